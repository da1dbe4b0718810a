/**
 * The fault server for HTTP/2, over TLS or in plain text with prior knowledge. It exists for the two ways in which only
 * HTTP/2 lets a server report that a request was certainly not processed: REFUSED_STREAM, and GOAWAY with a lower last stream.
 *
 * @example
 * await using server = await startHttp2Server([refuseStream(), answerStream()])
 * const dispatcher = new Agent({ allowH2: true, connect: { ca: server.ca } })
 */
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import { makeCertificate, type TestCertificate } from './certificate.ts'
import { answerStream, type Http2Exchange, type Http2Step } from './http2-steps.ts'
import type { SeenRequest } from './ledger.ts'
import { LoopbackServer } from './loopback.ts'
import { type Cast, cast, type Script } from './script.ts'

export {
	answerStream,
	cutSession,
	goAway,
	type Http2Step,
	hangStream,
	refuseStream,
	resetStream,
} from './http2-steps.ts'

export class Http2FaultServer extends LoopbackServer {
	/** The certificate that a client must trust, with TLS. */
	readonly ca: string | undefined
	readonly #cast: Cast<Http2Step>

	constructor(script: Script<Http2Step>, certificate: TestCertificate | undefined) {
		const server = certificate ? createTlsServer({ ...certificate, ALPNProtocols: ['h2'] }) : createServer()
		super(server, certificate ? 'https' : 'http')
		this.ca = certificate?.cert
		this.#cast = cast(script)
		// A client that does not trust the certificate fails the handshake; only its close is counted.
		server.on('tlsClientError', () => {})
		server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => this.#speak(socket))
	}

	/**
	 * The session uses a pair of streams and not the socket itself, so that steps can write their own frames
	 * in between: a second writer on a TLS socket owned by a session crashes the process.
	 */
	#speak(socket: Socket): void {
		const [near, far] = duplexPair()
		const session = performServerHandshake(far)
		// Errors are expected here.
		for (const part of [session, socket, near, far]) part.on('error', () => {})
		socket.pipe(near)
		// Read to the end even when the socket takes no more: Node asserts that no write of the session is left waiting.
		near.on('data', (bytes: Uint8Array) => socket.writable && socket.write(bytes))
		near.on('end', () => socket.end())
		socket.on('close', () => near.end())
		session.on('stream', (stream, headers) => this.#request(socket, stream, headers))
	}

	#request(socket: Socket, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
		const tcp = this.socketFrom(socket.remotePort)
		const { ':method': method = '', ':path': path = '' } = headers
		const seen = { n: this.requests.length + 1, connection: this.numberOf(tcp), method, path, headers }
		const request: SeenRequest = { ...seen, body: '', bytesWritten: 0, outcome: 'open' }
		this.requests.push(request)
		const end = (outcome: SeenRequest['outcome']) => {
			if (request.outcome === 'open') request.outcome = outcome
			this.changed()
		}
		stream.on('error', () => {})
		stream.setEncoding('utf8').on('data', (text: string) => {
			request.body += text
		})
		// Node also ends a stream that the client resets: only its code shows it.
		stream.once('close', () => end(stream.rstCode === 0 ? 'done' : 'aborted'))
		this.changed()
		const exchange: Http2Exchange = {
			request,
			stream,
			bodyArrived: new Promise((resolve) => stream.once('end', resolve).once('close', resolve)),
			finish: () => end('done'),
			sendRaw: (bytes) => new Promise((resolve) => socket.write(bytes, () => resolve())),
			cut: (how) => (how === 'fin' ? socket.end() : tcp?.resetAndDestroy()),
		}
		this.perform(
			() => this.#cast.take(request).play(exchange),
			() => stream.destroy(),
		)
	}
}

export interface Http2ServerOptions {
	/** Default true. Without it clients need prior knowledge of HTTP/2. */
	readonly tls?: boolean
}

/** Starts an HTTP/2 server that plays a script; without one it responds with 200 to every stream. */
export function startHttp2Server(
	script: Script<Http2Step> = answerStream(),
	{ tls = true }: Http2ServerOptions = {},
): Promise<Http2FaultServer> {
	return new Http2FaultServer(script, tls ? makeCertificate() : undefined).listen()
}
