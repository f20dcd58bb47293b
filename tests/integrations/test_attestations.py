"""Envelopes: what was signed is accepted, and whatever was changed afterwards voids it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairbound import InputError, certify_all, verify
from fairbound.cli import main
from fairbound.integrations.attestations import PAYLOAD, PREDICATE, STATEMENT, attest, open_envelope
from tests.integrations.problems import population

pytest.importorskip("cryptography", reason="cryptography is not installed")
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa


def pem(key: Any, password: bytes | None = None) -> tuple[bytes, bytes]:
    """Return a key, and its public part, in PEM."""
    form = serialization
    lock = form.NoEncryption() if password is None else form.BestAvailableEncryption(password)
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock)
    return private, key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PRIVATE, PUBLIC = pem(KEY)
OTHER = pem(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)))[1]


@pytest.fixture(scope="module")
def document() -> str:
    return certify_all(population(), {"loss": 0.9, "demographic_parity_ratio": None}, [0.1, 0.2]).to_json()


@pytest.fixture
def folder(tmp_path: Path, document: str) -> Path:
    (tmp_path / "certificate.json").write_text(document)
    (tmp_path / "model.pkl").write_bytes(b"\x80weights")
    (tmp_path / "rows.csv").write_text("y,said,sex\n")
    return tmp_path


def signed(folder: Path, key: bytes = PRIVATE, **more: Any) -> str:
    return attest(folder / "certificate.json", key, files=[folder / "model.pkl", folder / "rows.csv"], **more)


def payload(envelope: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
    return found


def resigned(envelope: str, change: Callable[[dict[str, Any]], None], kind: str = PAYLOAD) -> str:
    """Sign another statement with the right key: a signer who is wrong, or lies."""
    statement = payload(envelope)
    change(statement)
    text = json.dumps(statement).encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(text), text)
    signature = {"keyid": "", "sig": base64.b64encode(KEY.sign(message)).decode()}
    return json.dumps({"payloadType": kind, "payload": base64.b64encode(text).decode(), "signatures": [signature]})


def test_the_statement_is_one_of_in_toto(folder: Path, document: str) -> None:
    envelope = json.loads(signed(folder))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = payload(signed(folder))
    assert statement.keys() == {"_type", "subject", "predicateType", "predicate"}
    assert (statement["_type"], statement["predicateType"]) == (STATEMENT, PREDICATE)
    for subject in statement["subject"]:
        digest = hashes.Hash(hashes.SHA256())
        digest.update((folder / subject["name"]).read_bytes())
        assert subject["digest"] == {"sha256": digest.finalize().hex()}
    assert [subject["name"] for subject in statement["subject"]] == ["certificate.json", "model.pkl", "rows.csv"]
    claims = [one["points"] for one in json.loads(document)["questions"]]
    bounds = [point["claim"]["bound"] for points in claims for point in points]
    assert [one["bound"] for one in statement["predicate"]["bounds"]] == bounds
    assert [one["threshold"] for one in statement["predicate"]["bounds"]] == [0.9, 0.9, None, None]
    # The signature as DSSE defines it, checked without our code.
    text = base64.b64decode(envelope["payload"])
    message = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(text), text)
    KEY.public_key().verify(base64.b64decode(envelope["signatures"][0]["sig"]), message)


@pytest.mark.parametrize("key", [KEY, *(ec.derive_private_key(7, curve()) for curve in (ec.SECP256R1, ec.SECP384R1))])
def test_what_was_signed_is_accepted(folder: Path, key: Any, document: str) -> None:
    private, public = pem(key)
    opened = open_envelope(signed(folder, private), public, folder)
    assert opened.accepted
    assert opened.document == document.encode()
    assert len(opened.checks) == 5
    assert verify(opened.document).valid


def test_a_key_may_have_a_password(folder: Path) -> None:
    private, public = pem(KEY, b"secret")
    assert open_envelope(signed(folder, private, password=b"secret"), public, folder).accepted
    with pytest.raises(InputError, match="key is not a private key in PEM that can be read"):
        signed(folder, private)


def test_a_changed_model_voids_it(folder: Path) -> None:
    envelope = signed(folder)
    (folder / "model.pkl").write_bytes(b"\x80weightz")
    opened = open_envelope(envelope, PUBLIC, folder)
    assert not opened.accepted
    assert opened.reasons == ("'model.pkl' is another file than the one that was signed",)


@pytest.mark.parametrize("name", ["certificate.json", "model.pkl", "rows.csv"])
def test_every_file_has_to_be_there_and_the_same(folder: Path, name: str) -> None:
    envelope = signed(folder)
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    assert f"{name!r} is another file" in open_envelope(envelope, PUBLIC, folder).reasons[0]
    (folder / name).unlink()
    opened = open_envelope(envelope, PUBLIC, folder)
    assert not opened.accepted
    assert "cannot be read" in opened.reasons[0]


def test_files_may_be_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    envelope = signed(folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "other-name"
    (folder / "model.pkl").rename(elsewhere)
    assert not open_envelope(envelope, PUBLIC, folder).accepted
    assert open_envelope(envelope, PUBLIC, folder, {"model.pkl": elsewhere}).accepted
    with pytest.raises(InputError, match="is no subject of the statement"):
        open_envelope(envelope, PUBLIC, folder, {"module.pkl": elsewhere})


def test_another_key_did_not_sign(folder: Path) -> None:
    opened = open_envelope(signed(folder), OTHER, folder)
    assert (opened.document, opened.checks) == (None, ())
    assert opened.reasons == ("the signature is not one of this key over this statement",)


def test_no_byte_of_the_payload_can_be_changed(folder: Path) -> None:
    envelope = json.loads(signed(folder))
    text = base64.b64decode(envelope["payload"])
    for place in range(0, len(text), 41):
        changed = bytearray(text)
        changed[place] ^= 1
        envelope["payload"] = base64.b64encode(changed).decode()
        assert not open_envelope(json.dumps(envelope), PUBLIC, folder).accepted


def test_one_of_several_signatures_is_enough_and_both_alphabets_are_read(folder: Path) -> None:
    envelope = json.loads(signed(folder))
    wrong = {"keyid": "x", "sig": base64.b64encode(b"0" * 64).decode()}
    envelope["signatures"].insert(0, wrong)
    right = envelope["signatures"][1]
    right["sig"] = base64.urlsafe_b64encode(base64.b64decode(right["sig"])).decode()
    assert open_envelope(json.dumps(envelope), PUBLIC, folder).accepted
    envelope["signatures"] = [wrong]
    assert not open_envelope(json.dumps(envelope), PUBLIC, folder).accepted
    envelope["signatures"] = []
    assert not open_envelope(json.dumps(envelope), PUBLIC, folder).accepted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["predicate"]["bounds"][0].update(bound=0.01), "something else than the certificate"),
        (lambda s: s["predicate"]["bounds"].pop(), "something else than the certificate"),
        (lambda s: s["predicate"].pop("bounds"), "something else than the certificate"),
        (lambda s: s.update(predicateType="https://slsa.dev/provenance/v1"), "not about a certificate"),
        (lambda s: s.update(predicate=None), "not about a certificate"),
        (lambda s: s["predicate"].update(certificate="other.json"), "not about a certificate"),
        (lambda s: s["predicate"].update(certificate="model.pkl"), "is not a certificate"),
        (lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"), "not a statement of in-toto, version 1"),
        (lambda s: s.update(subject={}), "not a statement of in-toto, version 1"),
        (lambda s: s["subject"].append(s["subject"][0]), "no name of a file of its own"),
        (lambda s: s["subject"][1].update(name="../model.pkl"), "no name of a file of its own"),
        (lambda s: s["subject"][1].update(name="/etc/passwd"), "no name of a file of its own"),
        (lambda s: s["subject"][1].update(name=""), "no name of a file of its own"),
        (lambda s: s["subject"][1].update(name=".."), "no name of a file of its own"),
        (lambda s: s["subject"][1].update(name="a\\b"), "no name of a file of its own"),
        (lambda s: s["subject"][1].update(digest={"md5": "0"}), "or no SHA-256"),
    ],
)
def test_a_signer_who_is_wrong_is_not_believed(folder: Path, change: Any, said: str) -> None:
    opened = open_envelope(resigned(signed(folder), change), PUBLIC, folder)
    assert not opened.accepted
    assert said in opened.reasons[0]


def test_a_signature_over_another_type_is_none_over_this(folder: Path) -> None:
    envelope = json.loads(resigned(signed(folder), lambda s: None, "text/plain"))
    assert not open_envelope(json.dumps(envelope), PUBLIC, folder).accepted
    envelope["payloadType"] = PAYLOAD  # the type is signed too
    assert not open_envelope(json.dumps(envelope), PUBLIC, folder).accepted


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"payloadType": 1, "payload": 2, "signatures": 3}', "x", "\x00"])
def test_what_is_no_envelope_is_not_accepted(folder: Path, text: str) -> None:
    assert not open_envelope(text, PUBLIC, folder).accepted


def test_nobody_signs_what_is_not_proved(folder: Path, document: str) -> None:
    found = json.loads(document)
    found["questions"][0]["points"][0]["claim"]["bound"] = 0.01
    (folder / "certificate.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match="sign no such claim"):
        signed(folder)


def test_two_files_of_one_name_are_refused(folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "model.pkl").write_bytes(b"")
    with pytest.raises(InputError, match=r"two files are called 'model\.pkl'"):
        attest(folder / "certificate.json", PRIVATE, files=[folder / "model.pkl", folder / "old" / "model.pkl"])


def test_keys_of_other_kinds_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="use one of Ed25519 or ECDSA"):
        signed(folder, pem(rsa.generate_private_key(65537, 2048))[0])
    with pytest.raises(InputError, match="key is not a public key"):
        open_envelope(signed(folder), PRIVATE, folder)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Rows, their certificate, a model and keys, as a user has them."""
    rows = [f"{y},{y if n % 4 else 'no'},{sex}" for sex in "fm" for y in ("no", "yes") for n in range(50)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,said,sex", *rows]) + "\n")
    (tmp_path / "model.pkl").write_bytes(b"weights")
    (tmp_path / "signer.key").write_bytes(PRIVATE)
    (tmp_path / "signer.pub").write_bytes(PUBLIC)
    asked = ["--label", "y", "--prediction", "said", "--group", "sex", "--rho", "0.1"]
    assert main(["certify", str(tmp_path / "rows.csv"), *asked, "--json", str(tmp_path / "c.json"), "--quiet"]) == 0
    return tmp_path


def attested(release: Path) -> list[str]:
    """Return the command that signs all of it."""
    named = ["--model", str(release / "model.pkl"), "--data", str(release / "rows.csv")]
    ends = ["--key", str(release / "signer.key"), "-o", str(release / "release.json")]
    return ["attest", str(release / "c.json"), *named, *ends]


def test_commands_sign_and_verify(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(attested(release)) == 0
    check = ["verify", str(release / "release.json"), "--key", str(release / "signer.pub")]
    capsys.readouterr()
    assert main(check) == 0
    said = capsys.readouterr().out
    assert "the claim is proved" in said
    assert said.count("  signed: ") == 5
    assert main([*check, "--data", str(release / "rows.csv"), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"]
    assert len(found["signed"]) == 5
    assert found["data"]["agreeing"]
    (release / "model.pkl").write_bytes(b"other")
    assert main(check) == 1
    said = capsys.readouterr().out
    assert "the envelope is void" in said
    assert "proved" not in said
    assert main([*check, "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "void"


def test_rows_that_the_certificate_was_not_made_of_are_not_signed(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (release / "rows.csv").open("a") as file:
        file.write("no,no,f\n")
    assert main(attested(release)) == 2
    assert "is another file than the 'rows.csv' that the certificate was made of" in capsys.readouterr().err
    assert not (release / "release.json").exists()


def test_commands_say_what_is_missing(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(attested(release)) == 0
    envelope, certificate, key = (str(release / name) for name in ("release.json", "c.json", "signer.pub"))
    for arguments, said in (
        (["verify", envelope], "is signed; name the signer's public key with --key"),
        (["verify", certificate, "--key", key], "are about envelopes of fairbound attest, and"),
        (["verify", envelope, "--key", key, "--subject", "model.pkl"], "is not NAME=FILE"),
        (["verify", envelope, "--key", key, "--subject", "x=y"], "--subject x is no subject of the statement"),
        (["verify", envelope, "--key", certificate], "--key is not a public key"),
        (["attest", certificate, "--key", key, "-o", str(release / "x")], "--key is not a private key"),
    ):
        capsys.readouterr()
        assert main(arguments) == 2
        assert said in capsys.readouterr().err


def test_an_envelope_is_opened_without_the_engine(release: Path) -> None:
    assert main(attested(release)) == 0
    code = "import sys; from fairbound.cli import main; main(sys.argv[1:]); sys.exit('numpy' in sys.modules)"
    arguments = ["verify", str(release / "release.json"), "--key", str(release / "signer.pub")]
    assert subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=False).returncode == 0
