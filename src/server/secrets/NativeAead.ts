// AES-256-GCM by `node:crypto`. It needs no promise and no import of the key per secret: a plan of a configuration opens thousands.
import { Layer } from "effect"
import { Aead, SecureRandom } from "effect/crypto"
import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto"

const name = "aes-256-gcm"

/** Bytes of a tag, which follows the ciphertext. */
const tagLength = 16

const options = { authTagLength: tagLength }

/** With a key that is not a `KeyObject`, Node needs three times as long. */
const implementation: Aead.Implementation = {
  encrypt: (key, nonce, plaintext, aad) => {
    const cipher = createCipheriv(name, createSecretKey(key), nonce, options).setAAD(aad)
    return Uint8Array.from(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: (key, nonce, ciphertext, aad) => {
    const end = ciphertext.length - tagLength
    const tag = ciphertext.subarray(end)
    const decipher = createDecipheriv(name, createSecretKey(key), nonce, options).setAAD(aad).setAuthTag(tag)
    // The mode has no padding, so that the end adds no bytes. It checks the tag.
    const plaintext = decipher.update(ciphertext.subarray(0, end))
    try {
      decipher.final()
      return new Uint8Array(plaintext)
    } catch {
      // The tag does not match the ciphertext.
      return undefined
    }
  }
}

export const layer = Aead.layerWebCryptoWith({ implementations: { aes256Gcm: implementation } }).pipe(
  Layer.provide(SecureRandom.layerWebCrypto)
)
