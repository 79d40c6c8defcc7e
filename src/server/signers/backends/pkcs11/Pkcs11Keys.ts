// Finds the private and the public half of a key in a token, and reads the public half.
import type { Curve } from "../../../../domain/signer/Signer.ts"
import * as Decode from "../Decode.ts"
import type { DecodedKey } from "../Decode.ts"
import { attributes, classes } from "./Cryptoki.ts"
import type { Cryptoki, Handle } from "./Cryptoki.ts"
import { unavailable } from "./Pkcs11Failures.ts"

/** What names a key in its token. */
export interface KeyName {
  readonly key_label?: string | undefined
  /** Hex. */
  readonly key_id?: string | undefined
}

export interface PublicHalf extends DecodedKey {
  /** Hex. Undefined if the key has no id. */
  readonly id: string | undefined
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
    throw unavailable("bad_key", { detail: `the token has several ${half} keys with this name: give key_id` })
  return found[0] ?? fail(half)
}

const fail = (half: string): never => {
  throw unavailable("bad_key", { detail: `the token has no ${half} key with this label and id` })
}

export const findPrivate = (library: Cryptoki, session: Handle, name: KeyName) =>
  find(library, session, classes.privateKey, name)

/** Whether a private key with another id has this label too. */
export const isSharedLabel = (library: Cryptoki, session: Handle, key_label: string | undefined) =>
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
const pointIn = (value: Buffer, curve: Curve) => {
  const hex = value.toString("hex")
  const [, point] =
    curve === "ed25519"
      ? (/^(?:0420|032100)?([0-9a-f]{64})$/.exec(hex) ?? [])
      : (/^(?:0441|0421)?(0[234](?:[0-9a-f]{64}){1,2})$/.exec(hex) ?? [])
  return point === undefined ? undefined : Buffer.from(point, "hex")
}

const decode = async (curve: Curve, value: Buffer): Promise<DecodedKey | undefined> => {
  const point = pointIn(value, curve)
  if (point === undefined) return undefined
  return curve === "secp256k1" ? Decode.ofPoint(point) : { curve, publicKey: new Uint8Array(point) }
}

/** The public half of the private key with this name: the one with the same id or, if there is no id, with the same label. */
export const readPublic = async (library: Cryptoki, session: Handle, name: KeyName): Promise<PublicHalf> => {
  const id = read(library, session, findPrivate(library, session, name), attributes.id).toString("hex")
  const object = find(library, session, classes.publicKey, id === "" ? name : { key_id: id })
  const curve = curves[read(library, session, object, attributes.ecParams).toString("hex")]
  if (curve === undefined) throw unavailable("curve")
  const key = await decode(curve, read(library, session, object, attributes.ecPoint))
  if (key === undefined) throw unavailable("unexpected")
  return { ...key, id: id === "" ? undefined : id }
}
