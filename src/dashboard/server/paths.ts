/** Where a path leads. The base path need not be known: what the page loads is below a segment of its own. */
import { API_SEGMENT } from '../protocol/names.ts'
import type { Exchange } from './exchange.ts'

export type Place =
	| { readonly kind: 'none' }
	| { readonly kind: 'page' }
	| { readonly kind: 'redirect'; readonly location: string }
	| { readonly kind: 'asset'; readonly name: string }
	| { readonly kind: 'api'; readonly name: string }

const NONE: Place = { kind: 'none' }
const MARK = `/${API_SEGMENT}`
const API = `${MARK}/api/`

/** Dot segments, and escapes that a proxy may read as dots, slashes or backslashes. No path of the dashboard has them. */
const TRAVERSAL = /%2e|%2f|%5c|\\|\/\.{1,2}(\/|$)/i

export function findPlace(
	{ path, base, keepsSlash }: Pick<Exchange, 'path' | 'base' | 'keepsSlash'>,
	search: string,
): Place {
	const rest = TRAVERSAL.test(path) ? undefined : pathBelow(path, base)
	if (rest === undefined) return NONE
	// The links of the page lead to the same paths from here: this form of its path needs no slash at the end.
	if (rest === '/' || rest === MARK) return { kind: 'page' }
	if (rest === '') {
		// Relative, because a proxy may have removed a prefix. With `./`, because the name may contain a colon.
		const name = path.slice(path.lastIndexOf('/') + 1)
		return { kind: 'redirect', location: `./${name}${keepsSlash ? '/' : MARK}${search}` }
	}
	if (rest.startsWith(API)) return { kind: 'api', name: rest.slice(API.length) }
	if (rest.startsWith(`${MARK}/`)) return { kind: 'asset', name: rest.slice(MARK.length + 1) }
	return NONE
}

function pathBelow(path: string, base: string | undefined): string | undefined {
	if (base !== undefined)
		return path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : undefined
	const mark = path.endsWith(MARK) ? path.length - MARK.length : path.lastIndexOf(`${MARK}/`)
	if (mark >= 0) return path.slice(mark)
	if (path.endsWith('/')) return '/'
	// A file, such as /favicon.ico, is no base path.
	return path.slice(path.lastIndexOf('/')).includes('.') ? undefined : ''
}
