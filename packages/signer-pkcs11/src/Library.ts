// A library of PKCS#11 as signers use it: it finds a key in a token, reads its public half, and signs.
import { TokenFailure, attributes, classes, mechanisms, ofError } from "./Cryptoki.ts"
import type { Cryptoki, Handle } from "./Cryptoki.ts"
import * as Tokens from "./Tokens.ts"
import type { Login, Session, TokenName } from "./Tokens.ts"

type Curve = keyof typeof mechanisms

/** What names a key in its token. */
interface KeyName {
  readonly key_label?: string | undefined
  /** Hex. */
  readonly key_id?: string | undefined
}

/** At most two objects of a class with this name. */
const search = (library: Cryptoki, session: Handle, ofClass: number, { key_label, key_id }: KeyName) => {
  library.C_FindObjectsInit(session, [
    { type: attributes.class, value: ofClass },
    ...(key_label === undefined ? [] : [{ type: attributes.label, value: key_label }]),
    ...(key_id === undefined ? [] : [{ type: attributes.id, value: Buffer.from(key_id, "hex") }])
  ])
  const found = library.C_FindObjects(session, 2)
  library.C_FindObjectsFinal(session)
  return found
}

/** The object of a class with this name. If several objects have the name, none is used. */
const find = (library: Cryptoki, session: Handle, ofClass: number, name: KeyName): Handle => {
  const found = search(library, session, ofClass, name)
  const half = ofClass === classes.privateKey ? "private" : "public"
  if (found.length > 1)
    throw new TokenFailure("bad_key", `the token has several ${half} keys with this name: give key_id`)
  return found[0] ?? fail(half)
}

const fail = (half: string): never => {
  throw new TokenFailure("bad_key", `the token has no ${half} key with this label and id`)
}

const findPrivate = (library: Cryptoki, session: Handle, name: KeyName) =>
  find(library, session, classes.privateKey, name)

/** Whether a private key with another id has this label too. */
const isSharedLabel = (library: Cryptoki, session: Handle, key_label: string | undefined) =>
  key_label !== undefined && search(library, session, classes.privateKey, { key_label }).length > 1

const read = (library: Cryptoki, session: Handle, object: Handle, type: number) =>
  library.C_GetAttributeValue(session, object, [{ type }])[0]?.value ?? Buffer.alloc(0)

/** The object identifier, or for Ed25519 also the name `edwards25519`, in DER. */
const curves: Readonly<Record<string, Curve>> = {
  "06052b8104000a": "secp256k1",
  "06032b6570": "ed25519",
  "130c656477617264733235353139": "ed25519"
}

/** The point without its DER header: an octet string, a bit string on older devices, or none on some devices. */
const pointIn = (value: Buffer, curve: Curve): Buffer | undefined => {
  const hex = value.toString("hex")
  const [, point] =
    curve === "ed25519"
      ? (/^(?:0420|032100)?([0-9a-f]{64})$/.exec(hex) ?? [])
      : (/^(?:0441|0421)?(0[234](?:[0-9a-f]{64}){1,2})$/.exec(hex) ?? [])
  return point === undefined ? undefined : Buffer.from(point, "hex")
}

interface PublicKey {
  readonly curve: Curve
  /** secp256k1: 33 or 65 bytes, which may be on no curve; ed25519: 32 bytes. */
  readonly point: Uint8Array
  /** Hex. Undefined if the key has no id. */
  readonly id: string | undefined
}

/** The public half of the private key with this name: the one with the same id or, if there is no id, with the same label. */
const readPublic = (library: Cryptoki, session: Handle, name: KeyName): PublicKey => {
  const id = read(library, session, findPrivate(library, session, name), attributes.id).toString("hex")
  const object = find(library, session, classes.publicKey, id === "" ? name : { key_id: id })
  const curve = curves[read(library, session, object, attributes.ecParams).toString("hex")]
  if (curve === undefined) throw new TokenFailure("curve")
  const point = pointIn(read(library, session, object, attributes.ecPoint), curve)
  if (point === undefined) throw new TokenFailure("unexpected")
  return { curve, point, id: id === "" ? undefined : id }
}

/** The private half, which a session looks for once. */
const privateOf = (library: Cryptoki, session: Session, name: KeyName): Handle => {
  const text = JSON.stringify(name)
  const key = session.keys.get(text) ?? findPrivate(library, session.handle, name)
  session.keys.set(text, key)
  return key
}

interface Found extends PublicKey {
  /** Serial number of the token. */
  readonly serial: string
  /** Whether a private key with another id has the label too. */
  readonly isShared: boolean
}

/** One library. A promise that it rejects has a `TokenFailure`. */
export interface Library {
  /** The public half of a key, and whether another key has the label. */
  read(token: TokenName, login: Login, key: KeyName, label: string | undefined): Promise<Found>
  /** `message` is a digest of 32 bytes on secp256k1, and the message itself on ed25519. The signature may have any s. */
  sign(token: TokenName, login: Login, key: KeyName, curve: Curve, message: Uint8Array): Promise<Uint8Array>
}

/** Bytes of a signature on either curve. */
const signatureLength = 64

export const make = (library: Cryptoki): Library => {
  const tokens = Tokens.make(library)
  const use = <A>(token: TokenName, login: Login, call: (session: Session) => A | Promise<A>): Promise<A> =>
    tokens
      .use(token, login, async (session) => call(session))
      .catch((error: unknown) => {
        throw ofError(error)
      })
  return {
    read: (token, login, key, label) =>
      use(token, login, (session) => ({
        serial: session.serial,
        isShared: isSharedLabel(library, session.handle, label),
        ...readPublic(library, session.handle, key)
      })),
    sign: (token, login, key, curve, message) =>
      use(token, login, (session) => {
        library.C_SignInit(session.handle, { mechanism: mechanisms[curve] }, privateOf(library, session, key))
        return library.C_SignAsync(session.handle, Buffer.from(message), Buffer.alloc(signatureLength))
      })
  }
}
