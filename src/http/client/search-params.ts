/**
 * Search parameters of a client and of a request. They are added to the text of a URL. `URL.searchParams`
 * would write the whole query anew, and a URL that was signed, or that has `%20` or a name without a value,
 * would change.
 */
import { invalidOption, isObject } from '../../core/options/schema.ts'

/** A query, or names with values. A name whose value is undefined is omitted. */
export type SearchParams =
	| string
	| URLSearchParams
	| Readonly<Record<string, string | number | boolean | undefined>>

/** A parameter as it is written in the URL; undefined removes one of the same name. */
export type Param = readonly [name: string, text: string | undefined]

/** Validates search parameters. Throws an InvalidOptionError. */
export function readSearchParams(given: unknown): readonly Param[] {
	if (given === undefined) return []
	if (typeof given === 'string') return paramsOf(given.replace(/^\?/, ''))
	if (!isObject(given)) invalidOption('searchParams', given, 'a string, URLSearchParams or an object')
	// Checks the shape, because the object may be of another class than the runtime's.
	if (Symbol.iterator in given) return paramsOf(String(given))
	return Object.entries(given).map(([name, value]) => {
		if (value === undefined) return [name, value]
		if (!/^(string|number|boolean)$/.test(typeof value) || Number.isNaN(value))
			invalidOption(
				`searchParams.${name}`,
				value,
				'a string, number or boolean; for several values, use URLSearchParams',
			)
		return [name, String(new URLSearchParams([[name, String(value)]]))]
	})
}

/** Returns the parameters of `inner`, after the parameters of `outer` that `inner` does not name. */
export const mergeParams = (outer: readonly Param[], inner: readonly Param[]): readonly Param[] => [
	...outer.filter(([name]) => !inner.some(([other]) => other === name)),
	...inner,
]

/** Returns the URL with parameters. The request's replace those in the URL, which replace the client's. */
export function addSearchParams(url: string, defaults: readonly Param[], given: readonly Param[]): string {
	if (!defaults.length && !given.length) return url
	const [hash = ''] = /#.*/s.exec(url) ?? []
	const [path = '', ...query] = url.slice(0, url.length - hash.length).split('?')
	const all = mergeParams(mergeParams(defaults, paramsOf(query.join('?'))), given)
	const texts = all.flatMap(([, text]) => text ?? [])
	return (texts.length ? `${path}?${texts.join('&')}` : path) + hash
}

const paramsOf = (query: string): readonly Param[] =>
	query ? query.split('&').map((text) => [new URLSearchParams(text).keys().next().value ?? '', text]) : []
