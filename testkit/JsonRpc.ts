// JSON-RPC calls of a node by tests. An error of the node fails the test.
import { Effect } from "effect"

export const call =
  (url: string) => (method: string, params: ReadonlyArray<unknown> | Readonly<Record<string, unknown>>) =>
    Effect.promise(async (): Promise<unknown> => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
      const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
      const { error, result } = await response.json()
      if (error !== undefined) throw new Error(error.message)
      return result
    })
