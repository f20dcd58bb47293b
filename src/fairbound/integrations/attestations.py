"""Attestations: an in-toto statement about a model, its data and its certificate, in an envelope that is signed.

The statement's subjects are files by their digests; its predicate says what the certificate claims. The envelope is
DSSE's: the signature is over the bytes of the statement, so nothing is read before it holds. Keys are the user's own,
and files on this machine; no service is asked. Nothing here loads NumPy, so that checking stays light.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbound.errors import InputError, argument, given
from fairbound.verify.document import Document, singles
from fairbound.verify.metric import is_ratio
from fairbound.verify.reading import read_document
from fairbound.verify.strict import MalformedError, parse
from fairbound.verify.verdict import verify
from fairbound.version import __version__

#: A key of ``cryptography``, which is not imported before it is used.
Key = Any

#: What statement and envelope are, by the names of in-toto and DSSE; and what our predicate is.
STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
PREDICATE = "urn:fairbound:claim:v1"

#: More signatures, or subjects, than these are not looked at.
MOST_SIGNATURES, MOST_SUBJECTS = 20, 1000


def attest(
    certificate: str | Path,
    key: bytes,
    *,
    files: Sequence[str | Path] = (),
    password: bytes | None = None,
) -> str:
    """Return a signed envelope about a certificate and the files that belong to it.

    Parameters
    ----------
    certificate
        The file of a certificate, a curve, or the answers to several questions. Its proof is checked first.
    key
        The private key in PEM, of Ed25519 or ECDSA.
    files
        The model's file and the tables that it was tested on. They are known by their names and digests, so keep the
        names when you hand them on.
    password
        Of the key, if it has one.

    Raises
    ------
    InputError
        If the certificate is not proved, or was made of tables that are not those named: nobody should sign that.
    """
    document = _read(certificate, "certificate")
    verification = verify(document, patient=True)
    if not verification.valid:
        why = "; ".join(verification.reasons[:3])
        message = f"{given('certificate', str(certificate))}: {verification.verdict.value} ({why}); sign no such claim"
        raise InputError(message)
    name = Path(certificate).name
    subjects = {name: hashlib.sha256(document).hexdigest()}
    for file in files:
        if Path(file).name in subjects:
            message = f"{given('files', str(file))}: two files are called {Path(file).name!r}; rename one of them"
            raise InputError(message)
        subjects[Path(file).name] = _digest(file)
    found = read_document(document)
    _check_tables(found, subjects)
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()],
        "predicateType": PREDICATE,
        "predicate": {"certificate": name, "fairbound": __version__, "bounds": claimed(found)},
    }
    payload = json.dumps(statement, indent=2, allow_nan=False).encode("ascii")
    private = _private(key, password)
    signature = {"keyid": key_id(private.public_key()), "sig": _base64(_sign(private, _encoded(payload)))}
    envelope = {"payloadType": PAYLOAD, "payload": _base64(payload), "signatures": [signature]}
    return json.dumps(envelope, indent=2) + "\n"


@dataclass(frozen=True)
class Opened:
    """What was found in an envelope.

    Attributes
    ----------
    document
        The certificate, to the byte; None if it was not found or is another one. Its proof is yet to be checked.
    checks
        What was checked, in sentences.
    reasons
        What speaks against the envelope; if nothing does, it is accepted.
    """

    document: bytes | None
    checks: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether signature, digests and predicate hold."""
        return self.document is not None and not self.reasons


def is_envelope(text: bytes) -> bool:
    """Whether a text looks like an envelope, and not like a certificate."""
    try:
        found = parse(text)
    except MalformedError:
        return False
    return isinstance(found, dict) and {"payload", "payloadType", "signatures"} <= found.keys()


def open_envelope(
    text: bytes | str, key: bytes, folder: str | Path, files: Mapping[str, str | Path] | None = None
) -> Opened:
    """Check an envelope's signature, the digests of all its subjects, and that it says what the certificate claims.

    Parameters
    ----------
    text
        The envelope.
    key
        The signer's public key in PEM, which you have got from the signer and not together with the envelope.
    folder
        Where the subjects are, by their names.
    files
        Subjects that are elsewhere, or have other names here.
    """
    checks: list[str] = []
    try:
        payload = _verified(text, key)
        checks.append(f"the signature, by the key {key_id(_public(key))}")
        statement = parse(payload)
        digests = dict(_subjects(statement))
        predicate = statement.get("predicate")
        name = predicate.get("certificate") if isinstance(predicate, dict) else None
        if statement.get("predicateType") != PREDICATE or name not in digests:
            raise MalformedError("the statement is not about a certificate of fairbound")
    except MalformedError as error:
        return Opened(None, tuple(checks), (str(error),))
    elsewhere = files or {}
    unknown = [other for other in elsewhere if other not in digests]
    if unknown:
        message = f"{given('files', unknown[0])} is no subject of the statement; these are {', '.join(digests)}"
        raise InputError(message)
    places = {other: Path(elsewhere.get(other, Path(folder) / other)) for other in digests}
    reasons, document = [], None
    for other, wanted in digests.items():
        try:
            content = _read(places[other], "files") if other == name else None
            digest = _digest(places[other]) if content is None else hashlib.sha256(content).hexdigest()
        except InputError as error:
            reasons.append(str(error))
            continue
        if digest != wanted:
            reasons.append(f"{other!r} is another file than the one that was signed")
            continue
        checks.append(f"the digest of {other!r}")
        document = content if other == name else document
    if document is not None:
        try:
            same = claimed(read_document(document)) == predicate.get("bounds")
        except MalformedError as error:
            return Opened(None, tuple(checks), (*reasons, f"{name!r} is not a certificate: {error}"))
        if same:
            checks.append("that the statement says what the certificate claims")
        else:
            reasons.append("the statement says something else than the certificate")
    return Opened(document, tuple(checks), tuple(reasons))


def claimed(document: Document) -> list[dict[str, Any]]:
    """Return what a document claims, bound by bound, with its thresholds."""
    thresholds = {gate.question: gate.threshold for gate in document.gates}
    return [
        {
            "metric": single.question.metric.name,
            "group": single.question.metric.group,
            "rho": point.rho,
            "divergence": single.question.divergence,
            "shift": single.question.shift,
            "confidence": document.confidence,
            "side": "at least" if is_ratio(single) else "at most",
            "bound": point.claim.bound,
            "attained": point.claim.attained,
            "threshold": thresholds.get(number),
        }
        for number, single in enumerate(singles(document))
        for point in single.question.points
        if point.claim is not None
    ]


def key_id(key: Key) -> str:
    """Return the name of a public key: the digest of what it is in DER."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415 (only where something is signed)

    der = key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def _check_tables(document: Document, subjects: Mapping[str, str]) -> None:
    """Refuse tables that are not those which the certificate names as its own."""
    named = {file.name: file.sha256 for file in document.provenance.files}
    for name, digest in subjects.items():
        if named.get(name, digest) != digest:
            message = (
                f"{given('files', name)} is another file than the {name!r} that the certificate was made of; certify "
                "again"
            )
            raise InputError(message)


def _subjects(statement: Any) -> Iterator[tuple[str, str]]:
    """Yield names and digests; a name is that of a file, without a way to it."""
    listed = statement.get("subject") if isinstance(statement, dict) else None
    if not isinstance(listed, list) or statement.get("_type") != STATEMENT or len(listed) > MOST_SUBJECTS:
        raise MalformedError("the payload is not a statement of in-toto, version 1")
    seen = set()
    for subject in listed:
        name = subject.get("name") if isinstance(subject, dict) else None
        digest = subject.get("digest", {}) if isinstance(subject, dict) else {}
        wanted = digest.get("sha256") if isinstance(digest, dict) else None
        if not isinstance(name, str) or not isinstance(wanted, str) or name in seen or not _is_plain(name):
            raise MalformedError("a subject of the statement has no name of a file of its own, or no SHA-256")
        seen.add(name)
        yield name, wanted


def _is_plain(name: str) -> bool:
    """Whether a text is the name of a file, here and elsewhere."""
    return name not in {"", ".."} and name == Path(name).name and "\\" not in name and name.isprintable()


def _verified(text: bytes | str, key: bytes) -> bytes:
    """Return the payload of an envelope that a key has signed."""
    envelope = parse(text)
    signatures = envelope.get("signatures") if isinstance(envelope, dict) else None
    if not isinstance(signatures, list) or envelope.get("payloadType") != PAYLOAD:
        raise MalformedError("this is not an envelope of DSSE with a statement of in-toto in it")
    payload = _bytes(envelope.get("payload"))
    public, signed = _public(key), _encoded(payload)
    for signature in signatures[:MOST_SIGNATURES]:
        if isinstance(signature, dict) and _holds(public, _bytes(signature.get("sig")), signed):
            return payload
    raise MalformedError("the signature is not one of this key over this statement")


def _encoded(payload: bytes) -> bytes:
    """Return what is signed: type and payload with their lengths, so that neither can be taken for the other."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def _sign(key: Key, message: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 (only where something is signed)

    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(message, _ecdsa(key.curve.key_size))
    return key.sign(message)


def _holds(key: Key, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 (only where a signature is checked)
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 (likewise)

    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, _ecdsa(key.curve.key_size))
        else:
            key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _ecdsa(size: int) -> Any:
    """Return the scheme of a curve: the hash is as long as its numbers."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 (only where something is signed)
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 (likewise)

    return ec.ECDSA(hashes.SHA256() if size <= 256 else hashes.SHA384() if size <= 384 else hashes.SHA512())


def _private(pem: bytes, password: bytes | None) -> Key:
    form = _serialization()
    try:
        key = form.load_pem_private_key(pem, password)
    except (ValueError, TypeError) as error:
        message = f"{argument('key')} is not a private key in PEM that can be read: {error}"
        raise InputError(message) from None
    return _fitting(key)


def _public(pem: bytes) -> Key:
    form = _serialization()
    try:
        key = form.load_pem_public_key(pem)
    except ValueError as error:
        message = f"{argument('key')} is not a public key in PEM that can be read: {error}"
        raise InputError(message) from None
    return _fitting(key)


def _fitting(key: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519  # noqa: PLC0415 (only where something is signed)

    kinds = (ec.EllipticCurvePrivateKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey)
    if not isinstance(key, kinds):
        message = f"{argument('key')} is a {type(key).__name__}; use one of Ed25519 or ECDSA"
        raise InputError(message)
    return key


def _serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 (only where something is signed)
    except ImportError:
        message = "signatures need cryptography, which is not installed; pip install cryptography"
        raise ImportError(message, name="cryptography") from None
    return serialization


def _read(file: str | Path, what: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        message = f"{given(what, str(file))} cannot be read: {error.strerror or error}"
        raise InputError(message) from None


def _digest(file: str | Path) -> str:
    try:
        with Path(file).open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        message = f"{given('files', str(file))} cannot be read: {error.strerror or error}"
        raise InputError(message) from None


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _bytes(text: Any) -> bytes:
    """Read base64, of either alphabet."""
    try:
        return base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
    except (AttributeError, binascii.Error, ValueError):
        raise MalformedError("the envelope holds something else than base64") from None
