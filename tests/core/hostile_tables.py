"""Hostile tables, made when asked for: metadata of lesions, predictions of other programs, and logged outputs."""

import io
import pickle
from functools import partial

import numpy as np

HEAD = "lesion_id,image_id,dx,dx_type,age,sex,localization"
ROW = "HAM_1,ISIC_1,nv,histo,45.0,male,back"


class Trap:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return print, ("unpickled",)


PICKLE = pickle.dumps(Trap())


def table(*rows, head=HEAD):
    return "\n".join([head, *rows]).encode()


def one_hot(values):
    return f"image,MEL,NV,BCC,AKIEC,BKL,DF,VASC\nISIC_1,{values}\n".encode()


def many_rows():
    return table(*(f",I{number},nv,,,," for number in range(100_001)))


METADATA = [
    ("empty.csv", b"", "it is empty"),
    ("unmarked utf-16.csv", table(ROW).decode().encode("utf-16-le"), "NUL"),
    ("pickle.csv", PICKLE, "is a Python pickle: it could run a program"),
    ("page.csv", b"<!DOCTYPE html><html><body>404</body></html>", "is HTML: the download gave a web page"),
    ("columns.csv", lambda: ",".join(f"c{number}" for number in range(100_000)).encode(), "at most 500 columns"),
    ("one field.csv", lambda: b'image_id,"' + b"x" * 200_000 + b'"\n1,2\n', "at line 1: .*is a quote not closed"),
    ("rows.csv", many_rows, "at most 100,000 rows"),
    ("bytes.csv", lambda: table() + b"x" * 17 * 2**20, "at most 16,777,216 bytes"),
    ("quote.csv", table('HAM_1,"ISIC_1,nv,histo,45,male,back'), "cannot be read at line 2"),
    ("long id.csv", table(f"HAM_1,{'I' * 300},nv,histo,45,male,back"), "at most 200 characters in image_id, got 300"),
    ("conflict.csv", table(ROW, ROW.replace("nv", "mel")), "got ISIC_1 twice"),
    ("two ones.csv", one_hot("1,1,0,0,0,0,0"), "one 1 among zeros"),
]

# What is wrong with a diagnosis counts only where there must be one: from a folder, not on the page.
LABELLED = [
    ("scc.csv", table(ROW, "HAM_2,ISIC_2,SCC,histo,1,male,back"), r"got 'SCC' \(1 rows\)"),
    ("no diagnosis.csv", b"image_id,lesion_id,age\nISIC_1,HAM_1,3\n", "lacks the column dx"),
]

COLUMNS = {"label": "label", "answers": ("said",), "scores": ("a", "b"), "defer": ("ask",), "id": "id"}


def predictions(*rows, head="id,label,said,a,b,ask"):
    return "\n".join([head, *rows]).encode()


def parquet(count=3, ids=None, **options):
    import pyarrow as pa
    from pyarrow import parquet as writer

    columns = {"id": [str(row) for row in range(count)] if ids is None else ids}
    columns |= {name: [0] * count for name in ("label", "said")}
    columns |= {name: np.zeros(count) for name in ("a", "b", "ask")}
    stream = io.BytesIO()
    writer.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def texts(kind, length=5_000_000, count=60):
    """One text in all rows, of a type of pyarrow: in the file it takes its room once, written out 300 MB."""
    import pyarrow as pa

    one = pa.DictionaryArray.from_arrays(pa.array([0] * count), pa.array(["x" * length]))
    return parquet(count, one if kind == "dictionary" else one.cast(pa.string()).cast(getattr(pa, kind)()))


def nested(kind):
    """Four ids that are lists or records of 40 million numbers in all: 2 kB as a file, 320 MB in memory."""
    import pyarrow as pa

    lists = pa.array([np.zeros(10_000_000)] * 4)
    return parquet(4, lists if kind == "list" else pa.StructArray.from_arrays([lists], ["a"]))


def repeating():
    """Texts that each repeat the one before it for nothing."""
    ids = [f"{'x' * 100_000}{row}" for row in range(1_000)]
    return parquet(len(ids), ids, use_dictionary=False, column_encoding={"id": "DELTA_BYTE_ARRAY"})


def many_zeros(**options):
    """One column of 320 MB of zeros, in a few kB."""
    import pyarrow as pa
    from pyarrow import parquet as writer

    stream, table = io.BytesIO(), pa.table({"id": np.zeros(40_000_000)})
    writer.write_table(table, stream, row_group_size=len(table), compression="zstd", **options)
    return stream.getvalue()


def false_footer():
    """A page of 320 MB, of which the footer says that it has 3 rows, and 3 bytes."""
    from pyarrow import parquet as writer

    large = {"data_page_size": 2**30, "write_batch_size": 2**30, "max_rows_per_page": 2**30}
    data = many_zeros(use_dictionary=False, store_schema=False, write_statistics=False, **large)
    footer = int.from_bytes(data[-8:-4], "little") + 8
    chunk = writer.read_metadata(io.BytesIO(data)).row_group(0).column(0)
    for number in map(varint, (chunk.num_values, chunk.total_uncompressed_size)):
        assert number in data[-footer:]
        data = data[:-footer] + data[-footer:].replace(number, varint(3, len(number)))
    return data


def varint(number, length=0):
    """A positive number as Thrift writes it, made as long as is asked."""
    number, found = number << 1, []
    while number > 127 or len(found) + 1 < length:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def long_id():
    rows = (f"{row},0,0,1,0,0" for row in range(20_000))
    return predictions(*rows, f"{'x' * 100_000},0,0,1,0,0")


PREDICTIONS = [
    ("empty.csv", b"", "it is empty"),
    ("pickle.csv", PICKLE, "is a Python pickle: it could run a program"),
    ("latin.csv", predictions("ä,0,0,1,0,0").decode().encode("latin-1"), "must be text in UTF-8, line 2 is not"),
    ("columns.csv", lambda: ",".join(f"c{number}" for number in range(100_000)).encode() + b"\n1", "at most 2,000"),
    ("ragged.csv", predictions("x,0,0,1,0,0,7"), "6 fields in each row, got 7 at line 2"),
    ("infinite.csv", predictions("x,0,0,inf,0,0"), "a must be finite"),
    ("class.csv", predictions("x,7,0,1,0,0"), "label, a class, must lie in 0..1, got 7"),
    (
        "large answer.csv",
        predictions("x,0,1e300,1,0,0"),
        "said must be one of 'a', 'b', or a number from 0 to 1; got '1e300' at row 0",
    ),
    ("lacks.csv", predictions("x,0,0,1,0", head="id,label,said,a,b"), "lacks the columns 'ask'"),
    ("long id.csv", long_id, "an id, must have at most 200 characters, got 100,000"),
    ("cut.parquet", lambda: parquet()[:-20], "no readable Parquet"),
    ("texts.parquet", lambda: texts("large_string"), "its column 'id' has a text of 5,000,000 bytes"),
    ("flipped.parquet", lambda: parquet()[:4] + bytes(200) + parquet()[204:], "no readable Parquet|must"),
]

# Small files that unpack to much; the memory of each is measured.
EXPANDING = [
    *(
        (f"{kind}.parquet", partial(texts, kind), "its column 'id' has a text of 5,000,000 bytes")
        for kind in ("string", "large_string", "string_view", "dictionary")
    ),
    *((f"{kind}.parquet", partial(texts, kind), "'id' is of the type .*binary") for kind in ("binary", "large_binary")),
    ("short texts.parquet", lambda: texts("large_string", 150_000, 2_000), "its column 'id' unpacks to"),
    ("repeating.parquet", repeating, "its column 'id' unpacks to"),
    ("list.parquet", lambda: nested("list"), "'id' is of the type list<element: double>"),
    ("struct.parquet", lambda: nested("struct"), "'id' is of the type struct"),
    ("rows.parquet", many_zeros, "its 40,000,000 rows"),
    ("false footer.parquet", false_footer, "its column 'id' unpacks to 320,0"),
    ("cell.csv", lambda: predictions("x" * 100_000_000 + ",0,0,1,0,0"), "at most 1,048,576 bytes in a row"),
    ("columns of a row.csv", lambda: predictions(",".join(["1"] * 1_000_000)), "at most 1,048,576 bytes in a row"),
    (
        "quoted head.csv",
        lambda: predictions("1,2", head='"i\nd",' + ",".join(map(str, range(120_000)))),
        "at most 2,000",
    ),
    (
        "open quote.csv",
        lambda: predictions(*['"x,0,0,1,0,0', *["y,0,0,1,0,0"] * 1_000_000]),
        "is a quote not closed",
    ),
    ("commas.csv", lambda: predictions(*[",,,,,"] * 13_000_000), "it unpacks to"),
    ("ids.csv", lambda: predictions(*["x,0,0,1,0,0"] * 400_000, f"{'x' * 200},0,0,1,0,0"), "ids of similar length"),
]

LOGGED = [
    ("deep.json", b"[" * 200_000, "no JSON"),
    ("cut.json", b"[[0.2, 0.3", "no JSON"),
    ("object.json", b'{"a": 1}', "must be a list of"),
    ("not a number.json", b"[[NaN, 0.5, 0.5]]", "must lie in 0..1"),
    ("digits.json", b"[[1" + b"0" * 5000 + b", 0.5, 0.5]]", "no JSON"),
    ("large.json", b"[[1" + b"0" * 400 + b", 0.5, 0.5]]", "must be a list of numbers|must lie in"),
]
