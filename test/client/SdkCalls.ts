// Calls of the published SDK for one relayer, as effects.
import { assert } from "@effect/vitest"
import { Configuration, RelayersApi } from "@openzeppelin/relayer-sdk"
import { Effect } from "effect"
import * as TestApi from "../../testkit/TestApi.ts"

export const callsOf = Effect.fnUntraced(function* (relayerId: string) {
  const { baseUrl } = yield* TestApi.TestApi
  const sdk = new RelayersApi(new Configuration({ basePath: baseUrl, accessToken: TestApi.apiKey }))
  return {
    sdk,
    /** The data of a call that succeeds. */
    answer: <A>(call: (sdk: RelayersApi, id: string) => Promise<{ readonly data: { readonly data?: A } }>) =>
      Effect.promise(async () => {
        const { data } = (await call(sdk, relayerId)).data
        assert.isDefined(data)
        return data
      }),
    /** The status of a call that the service refuses. 200: the call succeeded. */
    refusal: (call: (sdk: RelayersApi, id: string) => Promise<unknown>) =>
      Effect.promise(() =>
        call(sdk, relayerId).then(
          () => 200,
          (error: { readonly response?: { readonly status: number } }) => error.response?.status
        )
      )
  }
})
