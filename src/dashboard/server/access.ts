/** Who may use the dashboard: what `authorize` returns, and without it this machine only. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Access } from '../contract.ts'
import type { DashboardOptions } from '../options.ts'
import type { Exchange } from './exchange.ts'
import { Rejection } from './rejection.ts'
import { withTimeLimit } from './time-limit.ts'

const LOOPBACK_ADDRESS = /^(::ffff:)?127(\.\d{1,3}){3}$|^::1$/
/** Names that a browser resolves without DNS, so that no other site can get a name that leads here. */
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i
/** A proxy on this machine sends them for a client elsewhere. */
const FORWARDED =
	/^(x-(original-)?forwarded(-.+)?|forwarded|via|x-real-ip|(.+-)?client-?ip|cf-.+|x-cluster-client-ip|x-envoy-external-address|x-original-(host|url|uri)|x-proxyuser-ip|cdn-loop)$/

export async function findAccess(
	{ request, native, peer }: Exchange,
	{ authorize, runtime }: Pick<DashboardOptions, 'authorize'> & { readonly runtime: Runtime },
): Promise<Access | Rejection> {
	if (!authorize) return isLocal(request, peer) ? 'all' : unauthorized(LOCAL_ONLY)
	const access: unknown = await withTimeLimit('authorize', () => authorize(request, native), request, runtime)
	if (access === 'all' || access === 'read' || access instanceof Rejection) return access
	if (access === false) return unauthorized('authorize returned false for this request.')
	throw new TypeError("authorize must return 'all', 'read' or false")
}

const LOCAL_ONLY =
	'Without the option authorize, the dashboard serves only requests of this machine to localhost, 127.0.0.1 or [::1], and a fetch handler does not know where a request comes from. Pass authorize to dashboard().'

const unauthorized = (message: string): Rejection => new Rejection(401, 'unauthorized', message)

/**
 * The host is checked because of DNS rebinding: a site may let its own name lead to 127.0.0.1. Browsers and tools send
 * HTTP/1.1; the default of nginx is HTTP/1.0 to the servers behind it, with their name as the host and no header of a proxy.
 */
export function isLocal({ headers }: Request, peer: Exchange['peer']): boolean {
	return (
		LOOPBACK_ADDRESS.test(peer?.address ?? '') &&
		peer?.httpVersion !== '1.0' &&
		LOOPBACK_HOST.test(headers.get('host') ?? '') &&
		![...headers.keys()].some((name) => FORWARDED.test(name))
	)
}
