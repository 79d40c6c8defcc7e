// The thread of `KeyDerivation`: derives one key and posts it. Only `KeyDerivation` starts it.
import { pbkdf2Sync, scryptSync } from "node:crypto"
import * as os from "node:os"
import { parentPort, workerData } from "node:worker_threads"
import type { Derivation } from "./KeyDerivation.ts"

/** Bytes of the key. */
const keyLength = 32

/** Bytes: scrypt fills 128 · n · r of them. The rest is for its buffers. */
const maxmem = 300 * 2 ** 20

// The requests of other callers go first. Linux has a priority per thread; elsewhere, it would be that of the whole process. At the lowest
// priority, a derivation of a second would take minutes beside two busy programs per core: it would get 15 of 2063 parts of the core. At
// this one it gets 110 of 2158 (`sched_prio_to_weight` of Linux).
if (process.platform === "linux") os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL)

const { passphrase, salt, ...parameters } = workerData as Derivation

const derive = async (): Promise<Uint8Array> => {
  if (parameters.kdf === "pbkdf2") return pbkdf2Sync(passphrase, salt, parameters.c, keyLength, "sha256")
  const { n, r, p } = parameters
  if (r > 1 || n < 2 ** 16) return scryptSync(passphrase, salt, keyLength, { N: n, r, p, maxmem })
  // OpenSSL refuses r = 1 from n = 2^16 on. Early clients wrote such keystores, and the definition has one as an example.
  const { scrypt } = await import("@noble/hashes/scrypt.js")
  return scrypt(passphrase, salt, { N: n, r, p, dkLen: keyLength, maxmem })
}

parentPort?.postMessage(await derive(), [])
