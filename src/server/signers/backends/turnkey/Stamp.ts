// Turnkey's stamp: a P-256 signature of the request body with the API key, as JSON in base64url.
import { Redacted } from "effect"
import * as crypto from "node:crypto"

const pairOf = (privateKey: Redacted.Redacted) => {
  const pair = crypto.createECDH("prime256v1")
  pair.setPrivateKey(Redacted.value(privateKey), "hex")
  return pair
}

/** Whether the two halves of an API key belong together. */
export const isPair = (publicKey: string, privateKey: Redacted.Redacted): boolean => {
  try {
    return pairOf(privateKey).getPublicKey("hex", "compressed") === publicKey.toLowerCase()
  } catch {
    return false
  }
}

const keyOf = (privateKey: Redacted.Redacted) => {
  const point = pairOf(privateKey).getPublicKey()
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: Buffer.from(Redacted.value(privateKey), "hex").toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url")
  }
  return crypto.createPrivateKey({ key: jwk, format: "jwk" })
}

/** The value of the header `X-Stamp` for a body. */
export const make = (publicKey: string, privateKey: Redacted.Redacted, body: string): string => {
  const signature = crypto.sign("sha256", Buffer.from(body), keyOf(privateKey)).toString("hex")
  const stamp = { publicKey, scheme: "SIGNATURE_SCHEME_TK_API_P256", signature }
  return Buffer.from(JSON.stringify(stamp)).toString("base64url")
}
