// AES-256-GCM by `node:crypto`, without a promise and an import of the key for each secret: a plan of a configuration opens thousands of them.
import { Layer } from "effect"
import { Aead, SecureRandom } from "effect/crypto"
import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto"

const name = "aes-256-gcm"

/** Bytes of a tag, which follows the ciphertext. */
const tagLength = 16

const options = { authTagLength: tagLength }

/** Node takes three times as long for a key that is no `KeyObject`. */
const implementation: Aead.Implementation = {
  encrypt: (key, nonce, plaintext, aad) => {
    const cipher = createCipheriv(name, createSecretKey(key), nonce, options).setAAD(aad)
    return Uint8Array.from(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: (key, nonce, ciphertext, aad) => {
    const end = ciphertext.length - tagLength
    const tag = ciphertext.subarray(end)
    const decipher = createDecipheriv(name, createSecretKey(key), nonce, options).setAAD(aad).setAuthTag(tag)
    const plaintext = decipher.update(ciphertext.subarray(0, end))
    try {
      return Uint8Array.from(Buffer.concat([plaintext, decipher.final()]))
    } catch {
      // The tag is not that of the ciphertext.
      return undefined
    }
  }
}

export const layer = Aead.layerWebCryptoWith({ implementations: { aes256Gcm: implementation } }).pipe(
  Layer.provide(SecureRandom.layerWebCrypto)
)
