/**
 * What comes back when a value was written as JSON and read again. A schema's output is what is stored, and a handler gets it from the database: a
 * `Date` of the schema is a text there, and a type that still says `Date` compiles into a call of `getTime` on a text.
 */

/** What JSON gives back as it was. Of undefined it keeps nothing, which reads the same. */
type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [name: string]: Json }

/** What an object loses. */
type Lost = symbol | ((...args: never[]) => unknown)

/** What `enqueue` refuses: no handler gets one. */
type Refused = bigint | Lost | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>

/**
 * A type after JSON. One that JSON does not change is answered as it is; only of an interface that can not be known beforehand, and it is
 * written out (which it must be as late as possible, for it may contain itself).
 */
export type Jsonified<T> = unknown extends T ? T : T extends Json ? T : Written<T>

type Written<T> = T extends { toJSON(name: string): infer Answer }
	? Jsonified<Answer>
	: T extends Refused
		? never
		: T extends readonly unknown[]
			? { [Index in keyof T]: Jsonified<T[Index]> }
			: {
					[Name in keyof T as Name extends symbol ? never : T[Name] extends Lost ? never : Name]: Jsonified<
						T[Name]
					>
				}
