"""Tables as inputs of a kernel: numbers, levels of categories and indicators of missing values."""

from logikern.encoding.encoder import Encoder, learn_encoder
from logikern.encoding.scaling import Scaling, learn_scaling

__all__ = ["Encoder", "Scaling", "learn_encoder", "learn_scaling"]
