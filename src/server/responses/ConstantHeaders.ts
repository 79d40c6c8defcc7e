// Header fields of every answer, also of those to what Node refuses before there is a request.

/** Answers hold what only the caller may see, some of them secrets: nobody on the way keeps any. */
export const constantHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const
