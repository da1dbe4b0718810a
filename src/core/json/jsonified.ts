/**
 * The type of a value after a round trip through JSON: payloads of the outbox and results of steps are stored
 * as JSON, so a `Date` is read as a string. A type that still says `Date` would allow `getTime` on a string.
 */

/** Values that JSON does not change. An undefined property is omitted, which reads as undefined. */
type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [name: string]: Json }

/** Values that JSON omits from objects. */
type Lost = symbol | ((...args: never[]) => unknown)

/** Values that JSON rejects or empties. */
type Rejected = bigint | Lost | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>

/**
 * The type after JSON. A type that JSON does not change stays as it is. For an interface this cannot be known
 * in advance, so it is mapped, as late as possible because it may be recursive.
 */
export type Jsonified<T> = unknown extends T ? T : T extends Json ? T : Mapped<T>

type Mapped<T> = T extends { toJSON(name: string): infer Result }
	? Jsonified<Result>
	: T extends Rejected
		? never
		: T extends readonly unknown[]
			? { [Index in keyof T]: Jsonified<T[Index]> }
			: {
					[Name in keyof T as Name extends symbol ? never : T[Name] extends Lost ? never : Name]: Jsonified<
						T[Name]
					>
				}
