// scrypt (RFC 7914): OpenSSL's, and another one for what OpenSSL refuses, block size 1 with a cost of 2^16 and more.
// Keystores of early clients have it, and so has the example of the keystore's definition.
import { Effect } from "effect"
import * as crypto from "node:crypto"

export interface Parameters {
  readonly n: number
  readonly r: number
  readonly p: number
  readonly salt: Uint8Array
}

/** 128 · n · r is what the algorithm fills; the rest is for its buffers. */
const maxmem = 300 * 2 ** 20

const keyLength = 32

/** Lets others run every few milliseconds. */
const byNoble = (passphrase: string, { n, r, p, salt }: Parameters) =>
  Effect.promise(async () => {
    const { scryptAsync } = await import("@noble/hashes/scrypt.js")
    return Buffer.from(await scryptAsync(passphrase, salt, { N: n, r, p, dkLen: keyLength, maxmem }))
  })

const byOpenSsl = (passphrase: string, { n, r, p, salt }: Parameters) =>
  Effect.callback<Buffer>((resume) =>
    crypto.scrypt(passphrase, salt, keyLength, { N: n, r, p, maxmem }, (error, key) =>
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    )
  ).pipe(Effect.uninterruptible)

/** 32 bytes. What has begun runs to its end, also when the fiber is interrupted. */
export const derive = (passphrase: string, parameters: Parameters): Effect.Effect<Buffer> =>
  parameters.r === 1 && parameters.n >= 2 ** 16 ? byNoble(passphrase, parameters) : byOpenSsl(passphrase, parameters)
