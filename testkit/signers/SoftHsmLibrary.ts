// The library of SoftHSM in this process. Calls that sign or read a key can be replaced, to behave as a failing device does.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { attributes, flags } from "../../packages/signer-pkcs11/src/Cryptoki.ts"
import type { Cryptoki, Handle } from "../../packages/signer-pkcs11/src/Cryptoki.ts"
import * as Keys from "./Keys.ts"

/** The library: `TEST_SOFTHSM`. */
export const library = process.env.TEST_SOFTHSM ?? "/usr/lib/softhsm/libsofthsm2.so"

/** The parts that make tokens and keys. */
export interface Making extends Cryptoki {
  C_InitToken(slot: Handle, pin: string, label: string): void
  C_InitPIN(session: Handle, pin: string): void
  C_Logout(session: Handle): void
  C_GenerateKeyPair(
    session: Handle,
    mechanism: { readonly mechanism: number },
    publicKey: ReadonlyArray<object>,
    privateKey: ReadonlyArray<object>
  ): unknown
  C_DestroyObject(session: Handle, object: Handle): void
  C_CloseAllSessions(slot: Handle): void
}

type Load = () => Promise<{ readonly default: { PKCS11: new () => Making } }>

const packageName: string = "pkcs11js"
const load: Load = () => import(packageName)

/** The library reads its configuration once for the process. */
const configure = () => {
  const folder = mkdtempSync(path.join(tmpdir(), "effect-relayer-softhsm-"))
  mkdirSync(path.join(folder, "tokens"))
  const file = path.join(folder, "softhsm2.conf")
  writeFileSync(file, `directories.tokendir = ${path.join(folder, "tokens")}\nlog.level = ERROR\n`)
  process.env.SOFTHSM2_CONF = file
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
}

/** Called by the library's functions of the same purpose, whose results they replace. */
export interface Calls {
  readonly sign: (message: Buffer, signed: Promise<Buffer>) => Promise<Buffer>
  readonly isOtherKey: () => boolean
}

let calls: Calls | undefined

/** Undefined: the functions of the library return their own results. */
export const replaceCalls = (replacement: Calls | undefined): void => {
  calls = replacement
}

/** The methods of an instance are its own, and the service makes the instance. */
const watched = (PKCS11: new () => Making): new () => Making =>
  class extends PKCS11 {
    constructor() {
      super()
      const { C_SignAsync: sign, C_GetAttributeValue: read } = this
      this.C_SignAsync = (session, message, signature) => {
        const signed = sign.call(this, session, message, signature)
        return calls === undefined ? signed : calls.sign(message, signed)
      }
      this.C_GetAttributeValue = (session, object, template) => {
        const values = read.call(this, session, object, template)
        if (template[0]?.type !== attributes.ecPoint || calls?.isOtherKey() !== true) return values
        return [{ type: attributes.ecPoint, value: Buffer.from(Keys.make("secp256k1").publicKey) }]
      }
    }
  }

const open = async () => {
  const { default: pkcs11 } = await load()
  configure()
  const made = new pkcs11.PKCS11()
  made.load(library)
  made.C_Initialize({ flags: flags.osLocking })
  pkcs11.PKCS11 = watched(pkcs11.PKCS11)
  return made
}

let opened: ReturnType<typeof open> | undefined

/** The library, which is loaded once for the process. */
export const loaded = (): ReturnType<typeof open> => (opened ??= open())
