// A stand-in ledger with funded accounts, whose time a test sets.
import { xdr } from "@stellar/stellar-sdk/base"
import type { Keypair } from "@stellar/stellar-sdk/base"
import { envelope, keyNamed, passphrase } from "../../../testkit/stellar/Building.ts"
import type { Building } from "../../../testkit/stellar/Building.ts"
import { accountIn } from "../../../testkit/stellar/Entries.ts"
import type { Account } from "../../../testkit/stellar/Entries.ts"
import { Network } from "../../../testkit/stellar/Network.ts"
import { Provider } from "../../../testkit/stellar/Provider.ts"

export const xlm = 10_000_000n

/** Unix milliseconds. */
export const start = 1_900_000_000_000

export const [relayer, user, other] = [keyNamed("relayer"), keyNamed("user"), keyNamed("other")]

export interface Sent {
  readonly status: string
  readonly hash: string
  readonly errorResultXdr?: string
}

const isSent = (answer: unknown): answer is Sent => typeof answer === "object" && answer !== null && "status" in answer

export class World {
  #now = start
  readonly network: Network
  readonly provider: Provider

  constructor({ nodes = 1 }: { readonly nodes?: number } = {}) {
    this.network = new Network({ passphrase, now: () => this.#now, nodes })
    this.provider = new Provider(this.network)
    for (const { publicKey } of [relayer, user, other].map((key) => ({ publicKey: key.publicKey() }))) {
      this.network.grant(publicKey, 1000n * xlm)
    }
  }

  get seconds(): number {
    return this.#now / 1000
  }

  /** Unix seconds, far enough ahead for a queue. */
  get soon(): number {
    return this.seconds + 60
  }

  pass(seconds: number): void {
    this.#now += seconds * 1000
  }

  /** Lets five seconds pass, and closes a ledger. */
  close(ledgers = 1): void {
    for (let left = ledgers; left > 0; left--) {
      this.pass(5)
      this.network.close()
    }
  }

  account(key: Keypair): Account {
    const account = accountIn(this.network.reads, key.publicKey())
    if (account === undefined) throw new Error("the account does not exist")
    return account
  }

  next(key: Keypair): bigint {
    return this.account(key).sequence + 1n
  }

  /** An envelope of the account with its next sequence, valid for a minute. */
  envelope(source: Keypair, operations: ReadonlyArray<xdr.Operation>, given: Partial<Building> = {}): string {
    return envelope(source, operations, { sequence: this.next(source), maxTime: this.soon, ...given })
  }

  call(method: string, params: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return { ...Object(this.provider.call(method, params)) }
  }

  send(text: string, provider = this.provider): Sent {
    const answer = provider.call("sendTransaction", { transaction: text })
    if (!isSent(answer)) throw new Error("no answer of a send")
    return answer
  }

  /** The status of a send, or the code of its error. */
  answer(text: string): string {
    const { status, errorResultXdr } = this.send(text)
    return errorResultXdr === undefined ? status : resultOf(errorResultXdr).result.type
  }

  /** Sends, closes a ledger, and returns the result. */
  apply(text: string): xdr.TransactionResult {
    const { hash, status } = this.send(text)
    if (status !== "PENDING") throw new Error(`the send was answered with ${status}`)
    this.close()
    return this.result(hash)
  }

  result(hash: string): xdr.TransactionResult {
    return resultOf(String(this.call("getTransaction", { hash }).resultXdr))
  }
}

export const resultOf = (text: string): xdr.TransactionResult => xdr.TransactionResult.fromXdr(text, "base64")

/** The results of the operations, by the name of each. */
export const operationsOf = ({ result }: xdr.TransactionResult): ReadonlyArray<string> => {
  const found = "innerResultPair" in result ? result.innerResultPair.result.result : result
  if (!("results" in found)) return []
  return found.results.map((one) => (one.type === "opInner" ? one.tr.value.type : one.type))
}
