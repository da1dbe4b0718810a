/** What a request needs besides access: a browser has not been made to send it by another site. */
import type { Access } from '../contract.ts'
import { Rejection } from './rejection.ts'
import { hasToken } from './token.ts'

export function checkWrite(request: Request, access: Access): Rejection | undefined {
	const forbidden = (code: string, message: string) => new Rejection(403, code, message)
	if (access !== 'all') return forbidden('read-only', 'This access is read-only.')
	if (!isSameOrigin(request)) return crossOrigin()
	if (!hasToken(request))
		return forbidden(
			'token',
			'The token of the page is missing or is not the one of the cookie. Reload the page.',
		)
	if (!/^application\/json(\s*;|$)/i.test(request.headers.get('content-type') ?? ''))
		return new Rejection(415, 'content-type', 'The content type must be application/json.')
	return undefined
}

/**
 * True for a script of another site that reads. Browsers block that, unless a middleware of the application allows all
 * origins (CORS): then any site could read what loopback or a network may see. A link from another site opens the page.
 */
export function isForeignRead(request: Request): boolean {
	const { headers } = request
	const [site, mode] = [headers.get('sec-fetch-site'), headers.get('sec-fetch-mode')]
	if (site === 'none' || mode === 'navigate') return false
	// Browsers send no origin with reads of the same origin.
	return (site !== null || headers.has('origin')) && !isSameOrigin(request)
}

export const crossOrigin = (): Rejection =>
	new Rejection(403, 'cross-origin', 'The request comes from another origin.')

/** A browser sets both headers itself. It sends `Sec-Fetch-Site` only to HTTPS and to localhost. */
function isSameOrigin({ headers, url }: Request): boolean {
	const site = headers.get('sec-fetch-site')
	if (site !== null) return site === 'same-origin'
	const origin = headers.get('origin')
	const own = new URL(url)
	const host = headers.get('host') ?? own.host
	// A proxy that ends TLS makes the own protocol look like HTTP.
	return origin === `https://${host}` || (own.protocol === 'http:' && origin === `http://${host}`)
}
