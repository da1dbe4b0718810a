/**
 * The token of a write: a cookie that scripts cannot read, and the same value in the page, which other sites
 * cannot read. The server keeps nothing, so it works behind a load balancer.
 */
import { TOKEN_HEADER } from '../protocol/names.ts'

const COOKIE = 'yaoki_token'
const TOKEN_BYTES = 32
const FORM = /^[0-9a-f]{64}$/

/** Returns the tokens of the cookies. A neighbor domain may set a second one, also for a longer path, which comes first. */
function cookieTokens({ headers }: Request): readonly string[] {
	const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
	return pairs.flatMap(([name, value = '']) => (name === COOKIE && FORM.test(value) ? [value] : []))
}

/** Returns the token for a page. A second tab gets the token of the first one, which would lose its own. */
export const tokenFor = (request: Request): string =>
	cookieTokens(request)[0] ??
	Array.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)), (byte) =>
		byte.toString(16).padStart(2, '0'),
	).join('')

/**
 * Without a path: a browser takes the folder of the page, which the server does not know behind a proxy that
 * removes a prefix.
 */
export function tokenCookie(token: string, { url, headers }: Request): string {
	const isSecure = url.startsWith('https:') || headers.get('x-forwarded-proto') === 'https'
	return `${COOKIE}=${token}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

export function hasToken(request: Request): boolean {
	const given = request.headers.get(TOKEN_HEADER) ?? ''
	return cookieTokens(request).some((expected) => isEqual(expected, given))
}

function isEqual(expected: string, given: string): boolean {
	if (given.length !== expected.length) return false
	// In constant time: the time must not say how many characters are right.
	let difference = 0
	for (let at = 0; at < expected.length; at++) difference |= expected.charCodeAt(at) ^ given.charCodeAt(at)
	return difference === 0
}
