/** What a write needs besides access: it comes from the page, and the browser has not been made to send it by another site. */
import type { Access } from '../contract.ts'
import { Rejection } from './rejection.ts'
import { hasToken } from './token.ts'

export function checkWrite(request: Request, access: Access): Rejection | undefined {
	const forbidden = (code: string, message: string) => new Rejection(403, code, message)
	if (access !== 'all') return forbidden('read-only', 'This access is read-only.')
	if (!isSameOrigin(request)) return forbidden('cross-origin', 'The request comes from another origin.')
	if (!hasToken(request))
		return forbidden(
			'token',
			'The token of the page is missing or is not the one of the cookie. Reload the page.',
		)
	if (!/^application\/json(\s*;|$)/i.test(request.headers.get('content-type') ?? ''))
		return new Rejection(415, 'content-type', 'The content type must be application/json.')
	return undefined
}

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
