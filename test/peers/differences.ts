/**
 * The full names of contract tests that do not run with the lowest version of a peer, because the peer itself behaves differently there. The notes of the table in
 * docs/guide/runtime.md say what that means for users.
 */
export const DIFFERENCES: Readonly<Record<string, readonly string[]>> = {
	// Connect reports the error of the interceptor instead of the cancellation.
	'@connectrpc/connect': ['a listener that cancels the call at failure ends it once'],
	// AxiosError has no `status`; `response.status` is there.
	axios: ['the response > the response that is rejected has its status in the error'],
	// The handler is interrupted by an unhandled rejection of Fastify itself.
	fastify: ['a handler that throws after the head releases the key'],
	// The client does not say whether a transaction is open.
	pg: [
		'reports an open transaction for clients and pools of pg',
		'a client without BEGIN and a pool autocommit: the relay is woken immediately, with a warning',
	],
	// The registry has no OpenMetrics.
	'prom-client': ['a registry of prom-client > writes OpenMetrics'],
	// A refused stream is no error, so the attempt ends with its timeout. Handlers are not notified of what was sent.
	undici: [
		'over HTTP/2 > retries a stream that the server refused',
		'a handler > sees one request, however many attempts were sent',
	],
}
