/**
 * Which `fetch` sends a request. Looked up when it is used, for tests and tools put their own in place of the runtime's. When that is
 * one of ours it would come back to us, or its retries would multiply with ours: then what it sends with is taken instead.
 */

type Fetch = typeof globalThis.fetch

/** Where one of ours says what it sends with, which is never one of ours. Other copies of the package know it, too. */
const SENDER = Symbol.for('yaoki.resilientFetch')

/** What sends a request at present. */
export const currentFetch = (): Fetch => underneath(globalThis.fetch)

/** Says of a `fetch` that was made here what it sends with, should it be put in the place of the runtime's. */
export const marked = <F extends object>(fetch: F, given: Fetch | undefined): F =>
	Object.defineProperty(fetch, SENDER, { value: given ?? currentFetch() })

function underneath(fetch: Fetch): Fetch {
	const sender: unknown = Object(fetch)[SENDER]
	return typeof sender === 'function' ? (sender as Fetch) : fetch
}
