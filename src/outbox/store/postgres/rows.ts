/** From columns to what the contract calls them. A bigint comes as a text from `pg` and as a number from PGlite. */

/** A number of eight bytes, as drivers give it. */
export type Big = string | number | bigint

export const optional = (value: Big | null): number | null => (value === null ? null : Number(value))

/** Ids as one parameter. Only for texts that are known to be UUIDs. */
export const uuidList = (ids: readonly string[]): string => `{${ids.join(',')}}`

/** Any texts as one parameter. */
export const asJson = (value: unknown): string => JSON.stringify(value)

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** What a person typed may be anything, and PostgreSQL takes anything else for an error rather than for an id that is not there. */
export const isUuid = (id: string): boolean => UUID.test(id)
