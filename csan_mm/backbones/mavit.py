"""MAViT: a convolution-rich vision transformer on magnitude-aware linear attention (ICCV 2025, arXiv 2507.00698).

Maps are (B, H, W, C) inside; a convolution sees them as (B, C, H, W) in channels_last, which is the same memory. B images,
h heads of width d = C / h, N = H W tokens. Parameter names and shapes are those of the official checkpoints.
"""





NORM_EPS = 1e-6

ARCHS = {
    "tiny": {
        "embed_dims": (64, 128, 256, 512),
        "depths": (2, 2, 6, 2),
        "num_heads": (1, 2, 4, 8),
        "layer_scale": (True, True, True, True),
        "layer_scale_init_values": (1.0, 1.0, 1.0, 1.0),
    },
    "small": {
        "embed_dims": (64, 128, 320, 512),
        "depths": (3, 5, 9, 3),
        "num_heads": (1, 2, 5, 8),
        "layer_scale": (True, True, True, True),
        "layer_scale_init_values": (1.0, 1.0, 1.0, 1.0),
    },
    "base": {
        "embed_dims": (96, 192, 384, 512),
        "depths": (4, 6, 12, 6),
        "num_heads": (1, 2, 6, 8),
        "layer_scale": (True, True, True, True),
        "layer_scale_init_values": (1.0, 1.0, 1e-6, 1e-6),
    },
    "large": {
        "embed_dims": (96, 192, 448, 640),
        "depths": (4, 7, 19, 8),
        "num_heads": (1, 2, 7, 10),
        "layer_scale": (True, True, True, True),
        "layer_scale_init_values": (1e-6, 1e-6, 1e-6, 1e-6),
    },
}
