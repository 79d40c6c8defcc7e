// What a local network gives to `effect-relayer dev`: a chain on this machine, money for an account, and a first transaction.
import { Schema } from "effect"
import type { Effect, Scope } from "effect"
import type { NetworkType } from "../../domain/network/NetworkId.ts"

/** The name of each local network. */
export const networkName = "dev"

/** The message is one line. */
export class DevelopmentFailed extends Schema.TaggedError<DevelopmentFailed>()("DevelopmentFailed", {
  message: Schema.String
}) {}

/** The program of a chain is not installed. The message says what it is for, and what to install. */
export class ProgramMissing extends Schema.TaggedError<ProgramMissing>()("ProgramMissing", {
  message: Schema.String
}) {}

type Json = Readonly<Record<string, unknown>>

/** A chain that runs until the scope closes. */
export interface LocalChain {
  /** Program, version, identity of the chain and URL, for people. */
  readonly description: string
  /** The only URL that the service may reach for it. It is on loopback. */
  readonly url: string
  /** The port that tools and the documents expect. If another program uses it, `url` has a free port instead. */
  readonly usualPort: number
  /** Gives the account its first balance, unless it has one. */
  readonly fund: (address: string) => Effect.Effect<void, DevelopmentFailed>
  /** Fails when the chain ends by itself. */
  readonly ended: Effect.Effect<never, DevelopmentFailed>
}

/** Starts the chain, whose state is in `folder`, as an earlier start has left it. */
type StartChain = (folder: string) => Effect.Effect<LocalChain, DevelopmentFailed, Scope.Scope>

export interface DevelopmentNetwork {
  /** Also names the signer and the relayer (`dev-evm`), and the folder of the chain in the data directory. */
  readonly networkType: NetworkType
  /** Fields of the network besides its type, its name and its URL. */
  readonly network: Json
  /** Policies of the relayer. Absent: the defaults. */
  readonly policies?: Json
  /** The body of a send from the relayer at this address. The user can send it again. */
  readonly transaction: (relayer: string) => Json
  /** What `transaction` does, such as "0.001 ETH to 0x7099…". */
  readonly effect: string
  /** Finds the program of the chain. */
  readonly find: Effect.Effect<StartChain, ProgramMissing>
}
