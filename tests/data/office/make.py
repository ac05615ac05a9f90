"""Makes the documents beside it: small, and with all that a document in parts is about.

    python tests/data/office/make.py

Everything in them is made here. The same run makes the same bytes.
"""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

from PIL import Image, ImageDraw

HERE = Path(__file__).parent
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "application/vnd.openxmlformats-officedocument"
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = f'xmlns:r="{REL}"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
Files = Mapping[str, str | bytes]


def picture(seed: int, kind: str, size: tuple[int, int] = (160, 100)) -> bytes:
    """Shapes and some noise; a PNG has a hole through which one sees what is behind."""
    chance = random.Random(seed)
    image = Image.new("RGBA", size, (40 * seed % 256, 90, 160, 255))
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = chance.randrange(size[0]), chance.randrange(size[1])
        draw.ellipse((x, y, x + 40, y + 25), fill=tuple(chance.randrange(256) for _ in range(3)))
    for _ in range(2500):
        at = chance.randrange(size[0]), chance.randrange(size[1])
        image.putpixel(at, (*(chance.randrange(256) for _ in range(3)), 255))
    if kind == "PNG":
        draw.rectangle((60, 40, 90, 60), fill=(0, 0, 0, 0))
    out = io.BytesIO()
    (image if kind == "PNG" else image.convert("RGB")).save(out, kind)
    return out.getvalue()


def packed(name: str, files: Files) -> None:
    """Pictures and `mimetype` as they are, the rest deflated."""
    with zipfile.ZipFile(HERE / name, "w") as archive:
        for path, data in files.items():
            stored = path == "mimetype" or path.endswith((".png", ".jpeg"))
            how = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(path, (2000, 1, 1, 0, 0, 0)), data, how)


def types(overrides: Mapping[str, str]) -> str:
    lines = "".join(
        f'<Override PartName="/{part}" ContentType="{MAIN}.{kind}+xml"/>'
        for part, kind in overrides.items()
    )
    return (
        f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="png" ContentType="image/png"/>'
        f'<Default Extension="jpeg" ContentType="image/jpeg"/>{lines}</Types>'
    )


def rels(*related: tuple[str, str]) -> str:
    """(type, target), with ids rId1, rId2 ..."""
    lines = "".join(
        f'<Relationship Id="rId{number}" Type="{REL}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(related, 1)
    )
    namespace = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'{HEAD}<Relationships xmlns="{namespace}">{lines}</Relationships>'


TREE = (
    '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>'
    "<p:grpSpPr><a:xfrm><a:off x='0' y='0'/><a:ext cx='0' cy='0'/><a:chOff x='0' y='0'/>"
    "<a:chExt cx='0' cy='0'/></a:xfrm></p:grpSpPr>"
)


def shape(number: int, text: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="T{number}"/><p:cNvSpPr txBox="1"/><p:nvPr/>'
        '</p:nvSpPr><p:spPr><a:xfrm><a:off x="457200" y="274638"/>'
        '<a:ext cx="8229600" cy="1143000"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/>'
        f"</a:prstGeom></p:spPr><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
        "</p:txBody></p:sp>"
    )


def shown(number: int, relation: str) -> str:
    return (
        f'<p:pic><p:nvPicPr><p:cNvPr id="{number}" name="P{number}"/><p:cNvPicPr/><p:nvPr/>'
        f'</p:nvPicPr><p:blipFill><a:blip r:embed="{relation}"/><a:stretch><a:fillRect/>'
        '</a:stretch></p:blipFill><p:spPr><a:xfrm><a:off x="1524000" y="1905000"/>'
        '<a:ext cx="6096000" cy="3810000"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/>'
        "</a:prstGeom></p:spPr></p:pic>"
    )


def slide(tag: str, inside: str, *, rest: str = "") -> str:
    return (
        f"{HEAD}<p:{tag} {A} {R} {P}><p:cSld><p:spTree>{TREE}{inside}</p:spTree></p:cSld>"
        f"{rest}</p:{tag}>"
    )


def theme() -> str:
    names = ("dk1", "lt1", "dk2", "lt2", *(f"accent{n}" for n in range(1, 7)), "hlink", "folHlink")
    colours = "".join(
        f'<a:{name}><a:srgbClr val="{0x101010 * (n + 1) & 0xFFFFFF:06X}"/></a:{name}>'
        for n, name in enumerate(names)
    )
    font = '<a:latin typeface="Sans"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    effect = "<a:effectStyle><a:effectLst/></a:effectStyle>"
    return (
        f'{HEAD}<a:theme {A} name="Plain"><a:themeElements><a:clrScheme name="Plain">{colours}'
        f'</a:clrScheme><a:fontScheme name="Plain"><a:majorFont>{font}</a:majorFont><a:minorFont>'
        f'{font}</a:minorFont></a:fontScheme><a:fmtScheme name="Plain"><a:fillStyleLst>{fill * 3}'
        f"</a:fillStyleLst><a:lnStyleLst>{f'<a:ln>{fill}</a:ln>' * 3}</a:lnStyleLst>"
        f"<a:effectStyleLst>{effect * 3}</a:effectStyleLst><a:bgFillStyleLst>{fill * 3}"
        "</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
    )


def pptx() -> None:
    kinds = {"ppt/presentation.xml": "presentationml.presentation.main"}
    kinds |= {f"ppt/slides/slide{n}.xml": "presentationml.slide" for n in (1, 2, 3)}
    kinds |= {
        "ppt/slideLayouts/slideLayout1.xml": "presentationml.slideLayout",
        "ppt/slideLayouts/slideLayout2.xml": "presentationml.slideLayout",
        "ppt/slideMasters/slideMaster1.xml": "presentationml.slideMaster",
        "ppt/theme/theme1.xml": "theme",
    }
    colours = (
        '<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" '
        'accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" '
        'folHlink="folHlink"/><p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/>'
        '<p:sldLayoutId id="2147483650" r:id="rId2"/></p:sldLayoutIdLst>'
    )
    follows = "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>"
    slides = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n + 1}"/>' for n in (1, 2, 3))
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": types(kinds),
        "_rels/.rels": rels(("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": (
            f"{HEAD}<p:presentation {A} {R} {P}><p:sldMasterIdLst><p:sldMasterId id='2147483648' "
            f"r:id='rId1'/></p:sldMasterIdLst><p:sldIdLst>{slides}</p:sldIdLst>"
            "<p:sldSz cx='9144000' cy='6858000'/><p:notesSz cx='6858000' cy='9144000'/>"
            "</p:presentation>"
        ),
        "ppt/_rels/presentation.xml.rels": rels(
            ("slideMaster", "slideMasters/slideMaster1.xml"),
            *(("slide", f"slides/slide{n}.xml") for n in (3, 1, 2)),  # not in the order of names
            ("theme", "theme/theme1.xml"),
        ),
        "ppt/media/image1.png": picture(1, "PNG"),
        "ppt/media/image2.jpeg": picture(2, "JPEG", (400, 300)),
        "ppt/slideMasters/slideMaster1.xml": slide("sldMaster", "", rest=colours),
        "ppt/slideMasters/_rels/slideMaster1.xml.rels": rels(
            ("slideLayout", "../slideLayouts/slideLayout1.xml"),
            ("slideLayout", "../slideLayouts/slideLayout2.xml"),
            ("theme", "../theme/theme1.xml"),
        ),
        "ppt/theme/theme1.xml": theme(),
    }
    for n in (1, 2):
        files[f"ppt/slideLayouts/slideLayout{n}.xml"] = slide("sldLayout", "", rest=follows)
        files[f"ppt/slideLayouts/_rels/slideLayout{n}.xml.rels"] = rels(
            ("slideMaster", "../slideMasters/slideMaster1.xml")
        )
    inside = {
        1: shape(2, "Second") + shown(3, "rId2"),
        2: shape(2, "Third") + shown(3, "rId2") + shown(4, "rId3"),
        3: shape(2, "First of three slides"),
    }
    pictures = {1: ("image1.png",), 2: ("image2.jpeg", "image1.png"), 3: ()}
    for n in (1, 2, 3):
        files[f"ppt/slides/slide{n}.xml"] = slide("sld", inside[n], rest=follows)
        files[f"ppt/slides/_rels/slide{n}.xml.rels"] = rels(
            ("slideLayout", "../slideLayouts/slideLayout1.xml"),
            *(("image", f"../media/{name}") for name in pictures[n]),
        )
    packed("deck.pptx", files)


def docx() -> None:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    wp = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    pic = "http://schemas.openxmlformats.org/drawingml/2006/picture"

    def drawing(number: int, relation: str) -> str:
        return (
            '<w:p><w:r><w:drawing><wp:inline><wp:extent cx="2286000" cy="1428750"/>'
            f'<wp:docPr id="{number}" name="P{number}"/><a:graphic {A}><a:graphicData uri="{pic}">'
            f'<pic:pic xmlns:pic="{pic}"><pic:nvPicPr><pic:cNvPr id="{number}" name=""/>'
            f'<pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="{relation}"/><a:stretch>'
            '<a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/>'
            '<a:ext cx="2286000" cy="1428750"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/>'
            "</a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline>"
            "</w:drawing></w:r></w:p>"
        )

    text = "<w:p><w:r><w:t>A text with two pictures.</w:t></w:r></w:p>"
    packed(
        "text.docx",
        {
            "[Content_Types].xml": types({"word/document.xml": "wordprocessingml.document.main"}),
            "_rels/.rels": rels(("officeDocument", "word/document.xml")),
            "word/document.xml": (
                f"{HEAD}<w:document {w} {wp} {R}><w:body>{text}{drawing(1, 'rId2')}"
                f"{drawing(2, 'rId1')}</w:body></w:document>"
            ),
            "word/_rels/document.xml.rels": rels(
                ("image", "media/image1.png"), ("image", "media/image2.jpeg")
            ),
            "word/media/image1.png": picture(3, "PNG"),
            "word/media/image2.jpeg": picture(4, "JPEG", (400, 300)),
        },
    )


def xlsx() -> None:
    x = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    sheets = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="rId{n}"/>' for n in (1, 2))
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": types(
            {
                "xl/workbook.xml": "spreadsheetml.sheet.main",
                "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet",
                "xl/worksheets/sheet2.xml": "spreadsheetml.worksheet",
                "xl/sharedStrings.xml": "spreadsheetml.sharedStrings",
            }
        ),
        "_rels/.rels": rels(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"{HEAD}<workbook {x} {R}><sheets>{sheets}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": rels(
            ("worksheet", "worksheets/sheet1.xml"),
            ("worksheet", "/xl/worksheets/sheet2.xml"),
            ("sharedStrings", "sharedStrings.xml"),
        ),
        "xl/sharedStrings.xml": (
            f'{HEAD}<sst {x} count="1" uniqueCount="1"><si><t>water</t></si></sst>'
        ),
    }
    for n in (1, 2):
        cells = "".join(f'<row r="{r}"><c r="A{r}"><v>{r * n}</v></c></row>' for r in range(1, 40))
        files[f"xl/worksheets/sheet{n}.xml"] = (
            f"{HEAD}<worksheet {x}><sheetData>{cells}</sheetData></worksheet>"
        )
    packed("sheets.xlsx", files)


def odf(name: str, kind: str, body: str, pictures: Files) -> None:
    base = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(
        f'xmlns:{short}="{base}:{long}:1.0"'
        for short, long in (
            *(("office", "office"), ("style", "style"), ("text", "text"), ("draw", "drawing")),
            *(("svg", "svg-compatible"), ("fo", "xsl-fo-compatible"), ("table", "table")),
        )
    )
    spaces += ' xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2"'
    media = f"application/vnd.oasis.opendocument.{kind}"
    names = f'xmlns:manifest="{base}:manifest:1.0"'
    paths = ["content.xml", "styles.xml", *pictures]
    listed = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="'
        f'{"text/xml" if path.endswith(".xml") else ""}"/>'
        for path in paths
    )
    layout = (
        '<office:automatic-styles><style:page-layout style:name="L"/></office:automatic-styles>'
        '<office:master-styles><style:master-page style:name="M" style:page-layout-name="L"/>'
        "</office:master-styles>"
    )
    packed(
        name,
        {
            "mimetype": media,
            **pictures,
            "content.xml": f"{HEAD}<office:document-content {spaces}><office:body>"
            f"<office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "styles.xml": f"{HEAD}<office:document-styles {spaces}>{layout}"
            "</office:document-styles>",
            "META-INF/manifest.xml": f'{HEAD}<manifest:manifest {names} manifest:version="1.2">'
            f'<manifest:file-entry manifest:full-path="/" '
            f'manifest:media-type="{media}"/>{listed}</manifest:manifest>',
        },
    )


def frame(path: str) -> str:
    return (
        '<draw:frame svg:x="2cm" svg:y="4cm" svg:width="8cm" svg:height="5cm" '
        f'text:anchor-type="as-char"><draw:image xlink:href="{path}" xlink:type="simple"/>'
        "</draw:frame>"
    )


def odp() -> None:
    box = (
        '<draw:frame svg:x="1cm" svg:y="1cm" svg:width="20cm" svg:height="2cm"><draw:text-box>'
        "<text:p>{}</text:p></draw:text-box></draw:frame>"
    )
    first, second = "Pictures/b.png", "Pictures/a.jpeg"
    body = "".join(
        f'<draw:page draw:name="p{n}" draw:master-page-name="M">{box.format(f"Slide {n}")}{inside}'
        "</draw:page>"
        for n, inside in ((1, frame(first)), (2, ""), (3, frame(second) + frame(first)))
    )
    pictures = {second: picture(5, "JPEG", (400, 300)), first: picture(6, "PNG")}
    odf("deck.odp", "presentation", body, pictures)


def odt() -> None:
    body = f"<text:p>A text.</text:p><text:p>{frame('Pictures/a.png')}</text:p>"
    odf("text.odt", "text", body, {"Pictures/a.png": picture(7, "PNG")})


if __name__ == "__main__":
    for make in (pptx, docx, xlsx, odp, odt):
        make()
