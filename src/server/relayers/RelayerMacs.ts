// Authenticates which account a relayer is: callers send money to its address, and its signer signs for it.
import { Context, Effect, Layer } from "effect"
import { RowMacs } from "../secrets/RowMacs.ts"

/** The fields of a relayer that no request changes. */
export interface Identity {
  readonly id: string
  readonly network_type: string
  readonly network: string
  readonly signer_id: string
  readonly address: string
}

export interface Authenticated {
  readonly id: string
  /** The relayer as responses show it. */
  readonly json: string
  readonly mac: string | null
}

/** UTF-16 code units of JSON whose MAC was verified, which are remembered: about ten thousand relayers. */
const maxRemembered = 4_000_000

const rowOf = ({ id, network_type, network, signer_id, address }: Identity) => ({
  table: "relayers",
  id,
  content: { network_type, network, signer_id, address }
})

export class RelayerMacs extends Context.Service<
  RelayerMacs,
  {
    make(identity: Identity): Effect.Effect<string>
    /** Dies with `RowChanged` if a MAC does not belong to what the JSON shows. */
    verify(relayers: ReadonlyArray<Authenticated>): Effect.Effect<void>
  }
>()("effect-relayer/server/relayers/RelayerMacs") {
  static readonly layer = Layer.effect(
    RelayerMacs,
    Effect.gen(function* () {
      const macs = yield* RowMacs

      /** The verified JSON by id. It is remembered, because a verification costs as much as reading the relayer. */
      const verified = new Map<string, Authenticated>()
      let size = 0

      const remember = ({ id, json, mac }: Authenticated) => {
        size += json.length - (verified.get(id)?.json.length ?? 0)
        if (size > maxRemembered) {
          verified.clear()
          size = json.length
        }
        verified.set(id, { id, json, mac })
      }

      const isUnknown = ({ id, json, mac }: Authenticated) => {
        const known = verified.get(id)
        return known === undefined || known.json !== json || known.mac !== mac
      }

      const verifyOne = (relayer: Authenticated) =>
        Effect.map(macs.verify(rowOf({ ...(JSON.parse(relayer.json) as Identity), id: relayer.id }), relayer.mac), () =>
          remember(relayer)
        )

      const verify = (relayers: ReadonlyArray<Authenticated>) =>
        Effect.suspend(() => {
          const unknown = relayers.filter(isUnknown)
          return unknown.length === 0 ? Effect.void : Effect.forEach(unknown, verifyOne, { discard: true })
        })

      return RelayerMacs.of({ make: (identity) => macs.make(rowOf(identity)), verify })
    })
  )
}
