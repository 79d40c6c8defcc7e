// Sealed secrets as earlier versions of the service wrote them. The service reads them once, and writes version 3 only.
import { createCipheriv, createHash } from "node:crypto"
import type { Place } from "../src/server/secrets/Envelope.ts"

/** The id of a master key: the first four bytes of its SHA-256, in hex. */
export const keyIdOf = (key: Uint8Array): string => createHash("sha256").update(key).digest("hex").slice(0, 8)

/** A fixed nonce, so that the same secret gives the same bytes. */
const encrypt = (key: Uint8Array, secret: Uint8Array, aad: Uint8Array) => {
  const nonce = Buffer.alloc(12, 9)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad)
  return Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
}

const boundTo = ({ table, id, column }: Place) => Buffer.from(JSON.stringify([table, id, column]))

/** Version 1: version, key id, nonce, ciphertext and tag. */
export const sealV1 = (key: Uint8Array, text: string, place: Place): Uint8Array => {
  const header = Buffer.from(`01${keyIdOf(key)}`, "hex")
  return new Uint8Array(Buffer.concat([header, encrypt(key, Buffer.from(text), boundTo(place))]))
}

/** Version 2: version, key id, wrapped data key, and the secret under the data key. */
export const sealV2 = (key: Uint8Array, text: string, place: Place): Uint8Array => {
  const header = Buffer.from(`02${keyIdOf(key)}`, "hex")
  const dataKey = Buffer.alloc(32, 77)
  const wrapped = encrypt(key, dataKey, Buffer.concat([header, boundTo(place)]))
  return new Uint8Array(Buffer.concat([header, wrapped, encrypt(dataKey, Buffer.from(text), boundTo(place))]))
}

/** The mark of a master key in a database that a version before version 3 wrote. */
export const markV2 = (key: Uint8Array): Uint8Array =>
  sealV2(key, "effect-relayer", { table: "master_key", id: "true", column: "sealed" })
