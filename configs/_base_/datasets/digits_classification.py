# The digits data set in ImageNet form: one large digit per image, 10 classes. About the rest see digits_detection.py.
dataset_type = 'CustomDataset'
data_root = '{{$DIGITS_ROOT:data/digits}}/imagenet/'
classes = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']

pipeline = [dict(type='LoadImageFromFile'), dict(type='PackInputs')]
train_dataloader = dict(
    batch_size=32,
    num_workers=1,
    drop_last=True,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(type=dataset_type, classes=classes, data_root=data_root, data_prefix='train', pipeline=pipeline),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=1,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(type=dataset_type, classes=classes, data_root=data_root, data_prefix='val', pipeline=pipeline),
)
test_dataloader = val_dataloader
val_evaluator = dict(type='Accuracy', topk=(1,))
test_evaluator = val_evaluator
