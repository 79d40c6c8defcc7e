// The bytes of a case. The seed and the number of the case determine them.
import * as ConsoleRequest from "./ConsoleRequest.ts"
import * as Garbage from "./Garbage.ts"
import * as Random from "./Random.ts"
import * as Request from "./Request.ts"
import type { World } from "./World.ts"

export type Case =
  | { readonly _tag: "Request"; readonly request: Request.Request; readonly bytes: Buffer }
  | { readonly _tag: "Garbage"; readonly garbage: Garbage.Garbage }

/** The other cases are garbage. */
const shareOfRequests = 0.88

export const make = (seed: number, index: number, world: World): Case => {
  const random = Random.make(seed, index)
  if (!random.chance(shareOfRequests)) return { _tag: "Garbage", garbage: Garbage.make(random, world) }
  const request = ConsoleRequest.instead(random, world, Request.make(random, world))
  return { _tag: "Request", request, bytes: Request.encode(random, request) }
}
