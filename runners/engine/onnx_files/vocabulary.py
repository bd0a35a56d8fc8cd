"""The words of ONNX that can be known without the onnx package: types, domains, operator families.

Numbers and names follow onnx.proto (IR 14) and the operator lists of ONNX and ONNX Runtime.
"""

from __future__ import annotations

# TensorProto.DataType: name and bits per element; text has no fixed size.
DATA_TYPES: dict[int, tuple[str, int]] = {
    1: ("float32", 32),
    2: ("uint8", 8),
    3: ("int8", 8),
    4: ("uint16", 16),
    5: ("int16", 16),
    6: ("int32", 32),
    7: ("int64", 64),
    8: ("string", 0),
    9: ("bool", 8),
    10: ("float16", 16),
    11: ("float64", 64),
    12: ("uint32", 32),
    13: ("uint64", 64),
    14: ("complex64", 64),
    15: ("complex128", 128),
    16: ("bfloat16", 16),
    17: ("float8e4m3fn", 8),
    18: ("float8e4m3fnuz", 8),
    19: ("float8e5m2", 8),
    20: ("float8e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4e2m1", 4),
    24: ("float8e8m0", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
    27: ("float6e2m3", 6),
    28: ("float6e3m2", 6),
}
STRING = 8
# How many elements one entry of a typed data field holds, where that is not one.
ELEMENTS_PER_ENTRY = {21: 2, 22: 2, 23: 2, 25: 4, 26: 4}
ENTRIES_PER_ELEMENT = {14: 2, 15: 2}

ATTRIBUTE_TYPES = frozenset(range(15))

# Message -> its fields that hold messages in which tensors may lie: field number -> message.
MESSAGES: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse",
        23: "sparse",
    },
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
# Message -> its fields of scalars of which a file may hold millions.
RUNS: dict[str, frozenset[int]] = {
    "tensor": frozenset({4, 5, 7, 10, 11}),
    "attribute": frozenset({7, 8}),
}

DEFAULT_DOMAIN = "ai.onnx"
TREE_ENSEMBLES = frozenset({"TreeEnsembleClassifier", "TreeEnsembleRegressor"})
# (domain, operator) -> attributes that hold weights: values that training chose and that the
# outputs are computed with. Vocabularies, categories, kernels' settings and default values are
# none. The thresholds of the two older tree ensembles are counted by their `nodes_modes`.
WEIGHT_ATTRIBUTES: dict[tuple[str, str], frozenset[str]] = {
    (DEFAULT_DOMAIN, "ImageScaler"): frozenset({"bias"}),
    (DEFAULT_DOMAIN, "TfIdfVectorizer"): frozenset({"weights"}),
    **{
        ("ai.onnx.ml", operator): frozenset(names.split())
        for operator, names in {
            "Imputer": "imputed_value_floats",
            "LinearClassifier": "coefficients intercepts",
            "LinearRegressor": "coefficients intercepts",
            "SVMClassifier": "coefficients rho prob_a prob_b support_vectors",
            "SVMRegressor": "coefficients rho support_vectors",
            "Scaler": "offset scale",
            "TreeEnsemble": "leaf_weights nodes_splits",
            "TreeEnsembleClassifier": "base_values base_values_as_tensor class_weights "
            "class_weights_as_tensor",
            "TreeEnsembleRegressor": "base_values base_values_as_tensor target_weights "
            "target_weights_as_tensor",
        }.items()
    },
}
STANDARD_DOMAINS = frozenset(
    {DEFAULT_DOMAIN, "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training"}
)
# Their operators keep vocabularies as text, which are no weights.
TEXT_DOMAINS = frozenset({"ai.onnx.contrib", "com.microsoft.extensions"})
# Who brings the operators of well-known other domains.
OPERATOR_SETS = {
    "com.microsoft": "ONNX Runtime (built in)",
    "com.microsoft.nchwc": "ONNX Runtime (built in)",
    "com.ms.internal.nhwc": "ONNX Runtime (built in)",
    "com.microsoft.extensions": "onnxruntime-extensions",
    "ai.onnx.contrib": "onnxruntime-extensions",
    "onnx.brevitas": "Brevitas",
    "org.pytorch.aten": "PyTorch (ATen fallback)",
    "qonnx.custom_op.general": "QONNX",
    "trt.plugins": "TensorRT plugins",
}

CATEGORIES = (
    "conv",
    "matmul",
    "attention",
    "norm",
    "activation",
    "elementwise",
    "pool",
    "shape",
    "quantise",
    "recurrent",
    "gather",
    "trees",
    "other",
)
OTHER = CATEGORIES.index("other")

_FAMILIES = {
    "conv": (
        "Conv ConvTranspose ConvInteger QLinearConv DeformConv FusedConv NhwcConv NhwcFusedConv "
        "QLinearConvTranspose ConvTransposeWithDynamicPads Im2Col Col2Im CausalConvWithState"
    ),
    "matmul": (
        "MatMul Gemm Einsum MatMulInteger QLinearMatMul MatMulNBits MatMulBnb4 FusedMatMul "
        "MatMulFpQ4 FusedGemm QGemm MatMulIntegerToFloat MatMulInteger16 DynamicQuantizeMatMul "
        "TransposeMatMul SparseToDenseMatMul GemmFloat8 GemmFastGelu FusedMatMulActivation MoE "
        "QMoE Det Bilinear"
    ),
    "attention": (
        "Attention MultiHeadAttention GroupQueryAttention QAttention PackedAttention "
        "PackedMultiHeadAttention LongformerAttention SparseAttention PagedAttention "
        "DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention DecoderAttention "
        "QOrderedAttention QOrderedLongformerAttention RotaryEmbedding GemmaRotaryEmbedding "
        "LinearAttention FlexAttention RelativePositionBias GatedRelativePositionBias "
        "TensorScatter"
    ),
    "norm": (
        "BatchNormalization LayerNormalization InstanceNormalization GroupNormalization "
        "GroupNorm SkipGroupNorm LpNormalization LRN RMSNormalization "
        "SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization "
        "EmbedLayerNormalization MeanVarianceNormalization Normalizer QEmbedLayerNormalization "
        "SkipRMSNormalization"
    ),
    "activation": (
        "Relu LeakyRelu PRelu Elu Celu Selu ThresholdedRelu Sigmoid HardSigmoid Tanh Softmax "
        "LogSoftmax Hardmax Softplus Softsign Gelu FastGelu BiasGelu QuickGelu Mish HardSwish "
        "Swish Silu Clip Shrink BiasSoftmax BiasSplitGelu QLinearSigmoid QLinearLeakyRelu "
        "QLinearSoftmax ParametricSoftplus ScaledTanh Dropout BitmaskDropout SwiGLU"
    ),
    "elementwise": (
        "Add Sub Mul Div Pow Sqrt Exp Log Abs Neg Reciprocal Floor Ceil Round Sign Erf Sin Cos "
        "Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Min Max Sum Mean Mod And Or Xor Not "
        "Equal Greater Less GreaterOrEqual LessOrEqual Where Cast CastLike IsNaN IsInf BitShift "
        "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot QLinearAdd QLinearMul CumSum CumProd Scaler "
        "Binarizer Imputer Scale ImageScaler Affine BiasAdd BitCast QuadraticExpand"
    ),
    "pool": (
        "MaxPool AveragePool GlobalMaxPool GlobalAveragePool LpPool GlobalLpPool MaxRoiPool "
        "RoiAlign MaxUnpool QLinearAveragePool QLinearGlobalAveragePool NhwcMaxPool ReduceMean "
        "ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum "
        "ReduceLogSumExp ReduceSumSquare ArgMax ArgMin QLinearReduceMean"
    ),
    "shape": (
        "Reshape Transpose Squeeze Unsqueeze Concat Split Slice DynamicSlice Flatten Expand "
        "Tile Shape Size Pad Identity Resize Upsample DepthToSpace SpaceToDepth Constant "
        "ConstantOfShape Range EyeLike ReverseSequence Crop CenterCropPad GridSample AffineGrid "
        "QLinearConcat FeatureVectorizer Trilu CropAndResize"
    ),
    "quantise": (
        "QuantizeLinear DequantizeLinear DynamicQuantizeLinear Quant BipolarQuant Trunc "
        "QOrderedGelu QOrderedMatMul QuantizeBFP DequantizeBFP QuantizeWithOrder "
        "DequantizeWithOrder DequantizeBnb4"
    ),
    "recurrent": ("LSTM GRU RNN DynamicQuantizeLSTM AttnLSTM"),
    "gather": (
        "Gather GatherElements GatherND Scatter ScatterElements ScatterND OneHot TopK NonZero "
        "Compress Unique NonMaxSuppression GatherBlockQuantized ArrayFeatureExtractor "
        "OneHotEncoder LabelEncoder CategoryMapper DictVectorizer TfIdfVectorizer"
    ),
    "trees": (
        "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor SVMClassifier SVMRegressor "
        "LinearClassifier LinearRegressor ZipMap"
    ),
}
CATEGORY_OF: dict[str, int] = {
    operator: CATEGORIES.index(family)
    for family, operators in _FAMILIES.items()
    for operator in operators.split()
}

CONTROL_FLOW = frozenset({"If", "Loop", "Scan", "SequenceMap"})
