// The attacks O1 to O9 of the design: requests with own instructions that take more from the relayer than they show. The same
// instructions in prebuilt messages, for ways in that take bytes only, are refused in any form.
import { Effect } from "effect"
import { derivations } from "../../../../src/networks/solana/chain/SolanaAccounts.ts"
import {
  associatedTokenProgram,
  systemProgram,
  token2022Program,
  tokenProgram
} from "../../../../src/networks/solana/rules/Programs.ts"
import type { Account } from "../../../../testkit/solana/Accounts.ts"
import * as Attacks from "../../../../testkit/solana/Attacks.ts"
import { address as addressOf, bytesOf, relayer as model, u32, u64 } from "../../../../testkit/solana/Messages.ts"
import type { Given } from "../../../../testkit/solana/Messages.ts"
import * as RawAttacks from "../../../../testkit/solana/RawAttacks.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { receiver } from "../lane/World.ts"
import { takesInstructions } from "./AttackWays.ts"
import type { Attacked, Way } from "./AttackWays.ts"

/** The address of the System program. */
const systemBytes = bytesOf(0)

/** Accounts: the relayer stands where `model` is. */
const given = (
  program: string,
  accounts: ReadonlyArray<string>,
  ...data: ReadonlyArray<ReadonlyArray<number>>
): Given => ({
  program,
  accounts,
  data: data.flat()
})

const ownBody = ({ address, asking }: Attacked, ...instructions: ReadonlyArray<Given>) =>
  asking({ instructions: instructions.map((one) => RawAttacks.own(one, address)) })

const listed = "fee_payer_in_instruction"

/** By ways that take bytes only, the instruction stands in a prebuilt message. */
const inBytes = ({ isInvalid, raw }: Attacked, way: Way, instruction: Given) =>
  isInvalid(way, { transaction: raw(instruction) }, listed)

/** Refused when they are accepted, whatever the policy allows. Instructions of `testkit/` have the number in their names. */
const misshapen = (number: string, policies: object = {}) => ({
  says: "is refused by every way in, and leaves nothing behind",
  policies,
  begin: (relayer: Attacked) =>
    Effect.succeed({
      by: (way: Way) =>
        Effect.forEach(
          Attacks.takingOver.filter(([name]) => RawAttacks.numbersOf(name).includes(number)),
          ([, instruction]) =>
            takesInstructions(way)
              ? relayer.isInvalid(way, ownBody(relayer, instruction), listed)
              : inBytes(relayer, way, instruction)
        ),
      after: relayer.isUntouched
    })
})

/** A key that may spend no more than `least`, or that has other receivers, may not send the instructions. */
const counted = (least: bigint, bodies: (relayer: string) => ReadonlyArray<ReadonlyArray<Given>>) => ({
  says: "is counted against the limits of the API key, and refused in a prebuilt message",
  begin: Effect.fnUntraced(function* (relayer: Attacked) {
    const limited = (solana: object) => makeKey(["transactions:write"], { transaction_limits: { solana } })
    const poor = yield* limited({ max_value: String(least) })
    const strict = yield* limited({ receivers: [receiver] })
    return {
      by: (way: Way) =>
        Effect.forEach(bodies(relayer.address), (instructions) =>
          takesInstructions(way)
            ? Effect.andThen(
                relayer.refuses(way, ownBody(relayer, ...instructions), "max_value", { key: poor }),
                relayer.refuses(way, ownBody(relayer, ...instructions), "receiver_not_allowed", { key: strict })
              )
            : Effect.forEach(instructions, (one) => inBytes(relayer, way, one))
        ),
      after: relayer.isUntouched
    }
  })
})

/** The shape is that of a spending, but the account that the chain shows is none that the relayer may spend from. */
const unsigned = (instructions: (relayer: string) => ReadonlyArray<Given>, account: Account) => ({
  says: "is not signed after its accounts are read, and is refused in a prebuilt message",
  begin: (relayer: Attacked) => {
    relayer.cluster.put({ [source]: account })
    relayer.cluster.produce(2)
    return Effect.succeed({
      by: (way: Way) =>
        Effect.forEach(instructions(relayer.address), (one) =>
          takesInstructions(way) ? relayer.endsUnsigned(way, ownBody(relayer, one), listed) : inBytes(relayer, way, one)
        ),
      after: Effect.sync(relayer.isSpared)
    })
  }
})

const [source, destination, mint, wallet] = [81, 82, 83, 84].map(addressOf) as [string, string, string, string]

const seed = [...Buffer.from("v")]

/** Lamports out of an account that is derived from the relayer. */
const transferWithSeed = (relayer: string, lamports: number): Given =>
  given(
    systemProgram,
    [derivations.withSeed(relayer, Uint8Array.from(seed), systemProgram), model, destination],
    u32(11),
    u64(lamports),
    u64(seed.length),
    seed,
    systemBytes
  )

const createAssociated = (program: string): Given =>
  given(
    associatedTokenProgram,
    [model, derivations.associated(wallet, mint, program), wallet, mint, systemProgram, program],
    [1]
  )

const transferChecked = (of: string): Given => given(tokenProgram, [source, of, destination, model], [12], u64(5), [0])

const transferPlain = given(tokenProgram, [source, destination, model], [3], u64(5))

const close = (account: string): Given => given(tokenProgram, [account, model, model], [9])

const [unknownProgram = ""] = Attacks.takingOver.flatMap(([name, { program }]) =>
  RawAttacks.numbersOf(name).includes("O9") ? [program] : []
)

/** By number. Those with a letter are parts of the same attack. */
export const attacks = {
  O1: misshapen("O1"),
  // `Sends.test.ts` has Transfer, whose mint only the chain shows.
  O2: counted(4n, (relayer) => [[transferChecked(Attacks.nativeMint)], [transferWithSeed(relayer, 5)]]),
  O3: misshapen("O3"),
  O3b: unsigned(() => [transferPlain, transferChecked(mint)], Tokens.holding({ mint, owner: wallet, amount: 9n })),
  O4: counted(203_928n, () => [[createAssociated(tokenProgram), createAssociated(tokenProgram)]]),
  O5: counted(249_999n, () => [[createAssociated(token2022Program)]]),
  O6: misshapen("O6"),
  O7: misshapen("O7"),
  O8: unsigned(() => [close(source)], Tokens.mint({ decimals: 0 })),
  O8b: {
    says: "is refused by every way in, and leaves nothing behind",
    policies: { allowed_tokens: [{ mint }] },
    begin: (relayer: Attacked) => {
      const own = close(derivations.associated(relayer.address, mint, tokenProgram))
      return Effect.succeed({
        by: (way: Way) =>
          takesInstructions(way)
            ? relayer.isInvalid(way, ownBody(relayer, own), "receives what users pay and must stay open")
            : inBytes(relayer, way, own),
        after: relayer.isUntouched
      })
    }
  },
  O9: misshapen("O9", { allowed_programs: [unknownProgram] })
}
