# UPerNet with CBT-S, 160,000 iterations on ADE20K.
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Recipe:   ours (the paper has no UPerNet), after mmseg's for ViT (AdamW 6e-5), the four levels from ViTDet's simple feature
#           pyramid
# Weights:  the authors' CBT-S (Google Drive, see their repository) as cbt_small.pth in checkpoints/ or $CSAN_MM_WEIGHTS; nothing
#           is downloaded
# Command:  tools/dist_train.sh configs/cbsa/cbt-s_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = [
    '../_base_/models/upernet.py',
    '../_base_/datasets/ade20k.py',
    '../_base_/schedules/adamw_160k.py',
    '../_base_/mmseg_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.CBT',
        arch='small',
        legacy_pooling=True,
        img_size=512,
        init_cfg=dict(
            type='csan_mm.Pretrained', checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt_small.pth', source='cbsa'
        ),
    ),
    neck=dict(type='csan_mm.SimpleFPN', in_channels=384, out_channels=256, num_outs=4),
    decode_head=dict(in_channels=[256, 256, 256, 256]),
    auxiliary_head=dict(in_channels=256),
    test_cfg=dict(mode='slide', crop_size=(512, 512), stride=(341, 341)),  # the pyramid covers whole patches only
)
