"""The experiments of the paper, run from raw data to figures by ``fairbound reproduce``.

Loaded only when asked for. Figures need matplotlib and the paper's network needs PyTorch: the extra ``reproduce``.
"""
