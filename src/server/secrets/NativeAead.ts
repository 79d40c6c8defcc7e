// AES-256-GCM by `node:crypto`, without a promise and an import of the key for each secret: a plan of a configuration opens thousands of them.
import { Layer } from "effect"
import { Aead, SecureRandom } from "effect/crypto"
import { createCipheriv, createDecipheriv } from "node:crypto"

const name = "aes-256-gcm"

/** Bytes of a tag, which follows the ciphertext. */
const tagLength = 16

const options = { authTagLength: tagLength }

const implementation: Aead.Implementation = {
  encrypt: (key, nonce, plaintext, aad) => {
    const cipher = createCipheriv(name, key, nonce, options).setAAD(aad)
    return Uint8Array.from(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: (key, nonce, ciphertext, aad) => {
    const end = ciphertext.length - tagLength
    const decipher = createDecipheriv(name, key, nonce, options).setAAD(aad).setAuthTag(ciphertext.subarray(end))
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
