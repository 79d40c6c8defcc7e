// Claims of names, so that of many workers, in whatever process, one does a thing. The names are those of the whole service.
import { Context, Effect, Layer, Option } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { ClaimFinal, ClaimHeld, ClaimLapsed, ClaimNotFound, FinalClaim } from "../../domain/claim/Claim.ts"
import type { Claim, ClaimName, ClaimRequest } from "../../domain/claim/Claim.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import * as ClaimsRepo from "./ClaimsRepo.ts"
import type { Holder, StoredClaim } from "./ClaimsRepo.ts"

const shownTo = (keyId: string, { name, holder, key_id, is_final, claimed_at, ends_at }: StoredClaim): Claim => ({
  name,
  ...(key_id === keyId ? { by: holder } : {}),
  final: is_final,
  claimed_at,
  ends_at
})

const isHeldBy = ({ holder, key_id }: StoredClaim, { by, keyId }: Holder): boolean => holder === by && key_id === keyId

const taken = ({ is_final, claimed_at, ends_at }: StoredClaim): ClaimFinal | ClaimHeld =>
  is_final ? ClaimFinal.since(claimed_at) : ClaimHeld.until(ends_at)

export class Claims extends Context.Service<
  Claims,
  {
    /**
     * Claims the name for some seconds, extends the lease of its holder, or makes the claim final. The holder is `by` together with
     * the API key of the caller.
     */
    take(request: ClaimRequest): Effect.Effect<Claim, BadRequest | ClaimHeld | ClaimFinal | ClaimLapsed>
    get(name: ClaimName): Effect.Effect<Claim, ClaimNotFound>
    /** Ends the lease of the holder. */
    release(name: ClaimName, by: string): Effect.Effect<void, ClaimNotFound | ClaimHeld | ClaimFinal>
    /** Deletes at most `limit` claims that have ended. Returns the number of deleted rows. */
    prune(limit: number): Effect.Effect<number>
  }
>()("effect-relayer/server/claims/Claims") {
  /** @internal */
  static readonly layer = Layer.effect(
    Claims,
    Effect.gen(function* () {
      const repo = yield* ClaimsRepo.make
      const changes = yield* Changes
      const transaction = yield* Transaction.make

      const holderOf = (by: string) => Effect.map(Caller.current, ({ id }): Holder => ({ by, keyId: id }))

      /** If the other claim has ended before it could be read, the name is free: the next try gets it, or meets a later claim. */
      const lease = (
        name: ClaimName,
        holder: Holder,
        seconds: number
      ): Effect.Effect<StoredClaim, ClaimFinal | ClaimHeld> =>
        Effect.flatMap(
          repo.lease(name, holder, seconds),
          Option.match({
            onSome: Effect.succeed,
            onNone: () =>
              Effect.flatMap(
                repo.find(name),
                Option.match({
                  onSome: (other) => Effect.fail(taken(other)),
                  onNone: () => Effect.suspend(() => lease(name, holder, seconds))
                })
              )
          })
        )

      const finish = Effect.fnUntraced(function* (name: ClaimName, holder: Holder) {
        const finished = yield* repo.finish(name, holder)
        if (Option.isSome(finished)) {
          const after = finished.value
          yield* changes.record({ action: "claim.finalized", id: name, schema: FinalClaim, after })
          return after
        }
        const found = yield* repo.find(name)
        if (Option.isNone(found)) return yield* new ClaimLapsed({})
        if (!isHeldBy(found.value, holder)) return yield* taken(found.value)
        // A repetition of the request that made it final.
        return found.value.is_final ? found.value : yield* new ClaimLapsed({})
      }, transaction)

      const take = Effect.fn("Claims.take")(function* ({ name, by, seconds, final }: ClaimRequest) {
        if ((seconds === undefined) === (final !== true)) {
          return yield* BadRequest.of([{ field: "seconds", message: "give either seconds or final, and not both" }])
        }
        const holder = yield* holderOf(by)
        const stored = yield* seconds === undefined ? finish(name, holder) : lease(name, holder, seconds)
        return shownTo(holder.keyId, stored)
      })

      const get = Effect.fn("Claims.get")(function* (name: ClaimName) {
        const { id } = yield* Caller.current
        const found = yield* Effect.flatMap(
          repo.find(name),
          Effect.fromOption(() => new ClaimNotFound({}))
        )
        return shownTo(id, found)
      })

      const release = Effect.fn("Claims.release")(function* (name: ClaimName, by: string) {
        if (Option.isSome(yield* repo.release(name, yield* holderOf(by)))) return
        const found = yield* repo.find(name)
        return yield* Option.isNone(found) ? new ClaimNotFound({}) : taken(found.value)
      })

      return Claims.of({ take, get, release, prune: repo.prune })
    })
  )
}
