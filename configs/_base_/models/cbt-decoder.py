# The CBT decoder. A config that uses it gives `backbone` with one output, `decode_head.in_channels` and `num_classes`, and the size
# of the crops in `data_preprocessor.size`.
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[127.5, 127.5, 127.5],
        std=[127.5, 127.5, 127.5],
        bgr_to_rgb=True,
        pad_val=0,
        seg_pad_val=255,
    ),
    decode_head=dict(type='csan_mm.CBTHead'),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'),
)
