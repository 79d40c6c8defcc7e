// A solana cluster in memory: blocks that live until a fork drops them, blockhashes that die, and transactions that execute once.
// `Bank.run` executes them, or Agave's virtual machine (`Machine.ts`), which has no slots, forks, commitments or history of its own.
import { createHash } from "node:crypto"
import { Result } from "effect"
import { derivations, isSignedBy } from "../../src/networks/solana/chain/SolanaAccounts.ts"
import type { Message, WireTransaction } from "../../src/networks/solana/rules/Message.ts"
import { systemProgram, tokenProgram } from "../../src/networks/solana/rules/Programs.ts"
import {
  buildMessage,
  decodeBase58,
  decodeTransaction,
  encodeBase58,
  messageBytes,
  transactionBytes
} from "../../src/networks/solana/rules/Wire.ts"
import type { Account, Accounts } from "./Accounts.ts"
import * as Bank from "./Bank.ts"
import * as Keys from "./Keys.ts"
import * as Tokens from "./Tokens.ts"

/** Blocks for which a blockhash is reported as valid. The runtime takes it one block longer. */
export const life = 150

/** Blocks on top of a block that make it finalized, except with Alpenglow. */
export const finality = 32

interface Executed {
  readonly signature: string
  readonly wire: WireTransaction
  readonly error: Bank.ChainError
  /** A version that the service does not read. Its bytes have the form of version 1. Absent: what its message says. */
  readonly laterVersion?: number
}

export interface Block {
  readonly slot: number
  /** Seconds. Absent: unknown, as on real nodes for some blocks. */
  readonly time?: number
  readonly height: number
  readonly blockhash: string
  readonly transactions: ReadonlyArray<Executed>
  /** As they are after it. */
  readonly accounts: Accounts
}

/** Oldest first. The height of a block is its index. */
export type Blocks = ReadonlyArray<Block>

const hashOf = (text: string): string => encodeBase58(createHash("sha256").update(text).digest())

const signatureOf = ({ signatures: [first] }: WireTransaction): string =>
  first === undefined ? "" : encodeBase58(first)

/** Where each signature and each blockhash is, in all forks. Blocks are searched thousands of times while transactions wait for them. */
interface Index {
  /** By signature, with the transactions of its block: the block of another fork at that height has others. */
  readonly places: Map<string, Array<{ readonly height: number; readonly among: Block["transactions"] }>>
  /** By blockhash. */
  readonly heights: Map<string, number>
}

const indexOf = (blocks: Blocks): Index => {
  const index: Index = { places: new Map(), heights: new Map() }
  for (const block of blocks) note(index, block)
  return index
}

const note = ({ heights, places }: Index, { blockhash, height, transactions }: Block): void => {
  heights.set(blockhash, height)
  for (const { signature } of transactions) {
    const place = { height, among: transactions }
    const found = places.get(signature)
    if (found === undefined) places.set(signature, [place])
    else found.push(place)
  }
}

/** Undefined: none of the blocks has it. */
const landedIn = ({ places }: Index, blocks: Blocks, signature: string) => {
  for (const { among, height } of places.get(signature) ?? []) {
    const block = blocks[height]
    const found = block?.transactions === among ? among.find((one) => one.signature === signature) : undefined
    if (block !== undefined && found !== undefined) return { block, ...found }
  }
  return undefined
}

/** How many blocks are on top of the block with the blockhash. Undefined: none of the blocks has it. */
const depthOf = ({ heights }: Index, blocks: Blocks, blockhash: string): number | undefined => {
  const height = heights.get(blockhash)
  return height === undefined || blocks[height]?.blockhash !== blockhash ? undefined : blocks.length - 1 - height
}

/** Whether each signature is there, and belongs to its key. */
export const isSigned = ({ message, messageBytes, signatures }: WireTransaction): boolean =>
  signatures.every((signature, index) => {
    const key = message.keys[index] ?? ""
    return signature !== undefined && isSignedBy(signature, messageBytes, key)
  })

interface Growth {
  readonly run: Bank.Run
  readonly index: Index
  /** By signature. */
  readonly pool: ReadonlyMap<string, WireTransaction>
  /** Blockhashes of another fork have another one. */
  readonly salt: string
  readonly time: number | undefined
  /** Blocks below the newest one that make a block final. */
  readonly finality: number
  readonly isSkipped: (height: number) => boolean
}

/** Offsets of the slot of the last extension of a lookup table, and of the first index that it has added. */
const extension = { slot: 12, from: 20 } as const

/** Leaders load lookup tables as the finalized blocks have them, and drop what uses later entries. */
const isYoung = ({ message }: WireTransaction, { accounts }: Block, rooted: number): boolean =>
  message.tables.some(({ readonly, table, writable }) => {
    const { data = new Uint8Array(0) } = accounts.get(table) ?? {}
    if (data.length <= extension.from) return false
    const slot = new DataView(data.buffer, data.byteOffset).getBigUint64(extension.slot, true)
    return slot > BigInt(rooted) && [...writable, ...readonly].some((index) => index >= (data[extension.from] ?? 0))
  })

/** The blocks with one more, which has what the pool can execute. Transactions that cannot get in stay out without a trace. */
const grow = (blocks: Blocks, { finality, index, isSkipped, pool, run, salt, time }: Growth): Blocks => {
  const head = blocks.at(-1)
  if (head === undefined) return blocks
  let { accounts } = head
  const transactions: Array<Executed> = []
  const slot = head.slot + (isSkipped(blocks.length) ? 2 : 1)
  const rooted = blocks.at(-1 - finality)?.slot ?? 0
  for (const [signature, wire] of pool) {
    const depth = depthOf(index, blocks, wire.message.blockhash)
    const isAlive = depth !== undefined && depth <= life
    if (landedIn(index, blocks, signature) !== undefined || !isAlive || !isSigned(wire)) continue
    if (isYoung(wire, head, rooted)) continue
    const execution = run(accounts, wire, slot)
    if (!execution.isIncluded) continue
    accounts = execution.accounts
    transactions.push({ signature, wire, error: execution.error })
  }
  const height = blocks.length
  const block: Block = {
    slot,
    height,
    blockhash: hashOf(`${salt} ${height}`),
    transactions,
    accounts,
    ...(time === undefined ? {} : { time })
  }
  note(index, block)
  return [...blocks, block]
}

interface Options {
  /** Absent: what `Bank.ts` knows. */
  readonly run?: Bank.Run
  /** Blocks of an earlier process. Absent: the chain begins. */
  readonly blocks?: Blocks
  /** Another text is another cluster. */
  readonly genesis?: string
  /** Whether each block is final at once, and four of ten slots have no block, as with Alpenglow on a busy machine. */
  readonly isAlpenglow?: boolean
  /** Gets each new block. Forks and accounts that a test puts there are not reported. */
  readonly record?: (block: Block) => void
}

/** Slots without a block. One validator alone has hardly any; every seventh keeps slots and heights apart in each test. */
const skips = {
  tower: (height: number): boolean => height % 7 === 0,
  alpenglow: (height: number): boolean => height % 3 !== 0
} as const

/** Lamports of the account that airdrops come from, and its key: 500 million SOL, as on a test validator. */
const supply = 500_000_000n * 1_000_000_000n
const airdrops = Keys.ofSeed(new Uint8Array(32).fill(99))

const firstBlock = (text: string): Block => ({
  slot: 0,
  height: 0,
  blockhash: hashOf(text),
  transactions: [],
  accounts: new Map([[airdrops.address, { lamports: supply, owner: systemProgram, data: new Uint8Array(0) }]])
})

export const make = (options: Options = {}) => {
  const { run = Bank.run, genesis: text = "genesis", blocks, isAlpenglow = false, record = () => {} } = options
  const genesis = firstBlock(text)
  const first: Blocks = blocks ?? [genesis]
  const index = indexOf(first)
  let forks = 0
  /** A block with these transactions on top of others. */
  const grown = (onto: Blocks, pool: ReadonlyMap<string, WireTransaction>): Blocks =>
    grow(onto, {
      run: cluster.run,
      index,
      pool,
      salt: `${text} fork ${forks}`,
      time: cluster.time,
      finality: cluster.finality,
      isSkipped: isAlpenglow ? skips.alpenglow : skips.tower
    })
  const append = (grown: Blocks) => {
    cluster.blocks = grown
    const newest = grown.at(-1)
    if (newest !== undefined) record(newest)
  }
  const cluster = {
    genesis: genesis.blockhash,
    run,
    /** Blocks on top of a block that make it finalized. */
    finality: isAlpenglow ? 0 : finality,
    /** Seconds, which new blocks get as their time. Absent: they have none. */
    time: undefined as number | undefined,
    blocks: first,
    /** By signature. */
    pool: new Map<string, WireTransaction>(),
    /** All bytes that any node was sent, taken or not. */
    sent: new Map<string, WireTransaction>(),
    /** Heights of the votes that a node has shown in a block, by signature. */
    votes: new Map<string, number>(),
    /** Whether nodes drop what they are sent. */
    swallows: false,
    /** Whether nodes keep these bytes to themselves, each time that they are sent. Absent: they forward all of them. */
    keepsBack: undefined as ((signature: string) => boolean) | undefined,

    /** The first of the new blocks has what the pool can execute. */
    produce: (count = 1) => {
      for (let done = 0; done < count; done++) {
        append(grown(cluster.blocks, cluster.pool))
        cluster.pool.clear()
      }
    },
    /** Drops blocks, and continues with as many others, without the transactions of those that were dropped. */
    reorg: (depth: number) => {
      forks += 1
      cluster.blocks = cluster.blocks.slice(0, -depth)
      for (let done = 0; done < depth; done++) cluster.blocks = grown(cluster.blocks, new Map())
    },
    /** A transfer out of nothing, which the list of the address shows as its oldest entry. Returns its signature. */
    fund: (address: string, lamports: bigint): string => {
      const head = cluster.blocks.at(-1) ?? genesis
      const height = cluster.blocks.length
      const seed = `${text} fund ${forks} ${height}`
      const signature = encodeBase58(createHash("sha512").update(seed).digest())
      const wire = fundingOf(address, lamports, head.blockhash, signature)
      const block: Block = {
        slot: head.slot + 1,
        height,
        blockhash: hashOf(seed),
        transactions: [{ signature, wire, error: null }],
        accounts: Bank.credited(head.accounts, address, lamports),
        ...(cluster.time === undefined ? {} : { time: cluster.time })
      }
      note(index, block)
      append([...cluster.blocks, block])
      return signature
    },
    /** A transaction of a version that the service does not read, which names the accounts and changes none. Returns its signature. */
    landLater: (laterVersion: number, keys: ReadonlyArray<string>): string => {
      const head = cluster.blocks.at(-1) ?? genesis
      const height = cluster.blocks.length
      const seed = `${text} later ${forks} ${height}`
      const [payer = "", ...others] = keys
      const instruction = {
        program: systemProgram,
        accounts: others.map((address) => ({ address, isWritable: true })),
        data: new Uint8Array(0)
      }
      const message = buildMessage({ payer, instructions: [instruction], blockhash: head.blockhash, config: {} })
      const bytes = messageBytes(message)
      const signature = createHash("sha512").update(seed).digest()
      const wire = { message, messageBytes: bytes, signatures: [Uint8Array.from(signature)], size: bytes.length + 64 }
      const executed = { signature: encodeBase58(signature), wire, error: null, laterVersion }
      const block: Block = { ...head, slot: head.slot + 1, height, blockhash: hashOf(seed), transactions: [executed] }
      note(index, block)
      append([...cluster.blocks, block])
      return executed.signature
    },
    /** Asks for a transfer from the account of airdrops, which may fail as every other one. Returns its signature. */
    airdrop: (address: string, lamports: bigint): string => {
      const blockhash = cluster.blocks.at(-1)?.blockhash ?? ""
      const message = transferOf(airdrops.address, address, lamports, blockhash)
      const bytes = messageBytes(message)
      return Result.getOrThrow(cluster.take(transactionBytes([airdrops.sign(bytes)], bytes)))
    },
    /** Puts accounts into the newest block, without a transaction. Undefined: the account is closed. */
    put: (accounts: Readonly<Record<string, Account | undefined>>) => {
      const head = cluster.blocks.at(-1) ?? genesis
      const changed = new Map(head.accounts)
      for (const [address, account] of Object.entries(accounts)) {
        if (account === undefined) changed.delete(address)
        else changed.set(address, account)
      }
      cluster.blocks = [...cluster.blocks.slice(0, -1), { ...head, accounts: changed }]
    },
    /** The owner's account of a mint with six decimals gets this balance, which is final at once. Returns the account. */
    grant: (mint: string, owner: string, amount: bigint): string => {
      const account = derivations.associated(owner, mint, tokenProgram)
      cluster.put({
        [mint]: cluster.accountOf(mint) ?? Tokens.mint({ decimals: 6 }),
        [account]: Tokens.holding({ mint, owner, amount })
      })
      cluster.produce(finality + 1)
      return account
    },
    /** Where a signature is among the blocks, which may be those of a fork. Undefined: nowhere. */
    landed: (among: Blocks, signature: string) => landedIn(index, among, signature),
    /** Whether nodes that have these blocks call the blockhash valid. */
    isValid: (among: Blocks, blockhash: string, most = life): boolean => {
      const depth = depthOf(index, among, blockhash)
      return depth !== undefined && depth <= most
    },
    accountOf: (address: string): Account | undefined => cluster.blocks.at(-1)?.accounts.get(address),
    balanceOf: (address: string): bigint => cluster.accountOf(address)?.lamports ?? 0n,
    /** The signature of a transaction, which is in the pool now, or swallowed. Fails with the error of bytes that are none. */
    take: (raw: Uint8Array): Result.Result<string, string> =>
      Result.map(
        Result.mapError(decodeTransaction(raw), ({ message }) => message),
        (wire) => {
          const signature = signatureOf(wire)
          cluster.sent.set(signature, wire)
          if (!cluster.swallows && cluster.keepsBack?.(signature) !== true) cluster.pool.set(signature, wire)
          return signature
        }
      ),
    /** How often a signature of the address landed with success. */
    successes: (address: string): number =>
      cluster.blocks
        .flatMap(({ transactions }) => transactions)
        .filter(({ wire, error }) => error === null && wire.message.keys[0] === address).length
  }
  return cluster
}

/** The account that funds others. It has no key. */
const faucet = encodeBase58(new Uint8Array(32).fill(9))

const transferOf = (from: string, to: string, lamports: bigint, blockhash: string): Message => {
  const data = Uint8Array.from([2, 0, 0, 0, ...new Uint8Array(BigUint64Array.of(lamports).buffer)])
  const accounts = [from, to].map((one) => ({ address: one, isWritable: true }))
  return buildMessage({ payer: from, instructions: [{ program: systemProgram, accounts, data }], blockhash })
}

const fundingOf = (address: string, lamports: bigint, blockhash: string, signature: string): WireTransaction => {
  const message = transferOf(faucet, address, lamports, blockhash)
  const bytes = messageBytes(message)
  return { message, messageBytes: bytes, signatures: [decodeBase58(signature, 64)], size: bytes.length + 65 }
}

export type Cluster = ReturnType<typeof make>
