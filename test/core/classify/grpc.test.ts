import {
	type CallOptions,
	Client,
	type ClientUnaryCall,
	credentials,
	Metadata,
	Server,
	ServerCredentials,
	type ServerUnaryCall,
	type sendUnaryData,
	status,
} from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import { CANCELLED, catchFailure, GRPC_CODES, TRANSIENT } from './expected.ts'
import {
	closeImmediately,
	closeInHandshake,
	deadPort,
	type Fault,
	faultServer,
	resetOnRequest,
} from './fault-server.ts'

const PATH = '/test.Faults/Fail'
const toBytes = (value: string) => Buffer.from(value)
const fromBytes = (bytes: Buffer) => bytes.toString()

const server = new Server()
let port: number

/** Fails with the code and the details of the request. */
function fail({ request }: ServerUnaryCall<string, string>, done: sendUnaryData<string>): void {
	const [code, ...details] = request.split(' ')
	if (request === 'throw') done(new Error('of its own'))
	else if (request !== 'hang') done({ code: Number(code), details: details.join(' ') })
}

beforeAll(async () => {
	const method = { path: PATH, requestStream: false, responseStream: false } as const
	const bytes = {
		requestSerialize: toBytes,
		requestDeserialize: fromBytes,
		responseSerialize: toBytes,
		responseDeserialize: fromBytes,
	}
	server.addService({ fail: { ...method, ...bytes } }, { fail })
	port = await new Promise<number>((resolve, reject) => {
		server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
			error ? reject(error) : resolve(bound),
		)
	})
})
afterAll(() => server.forceShutdown())

interface Call extends CallOptions {
	readonly port?: number
	readonly tls?: boolean
	readonly meanwhile?: (call: ClientUnaryCall) => void
}

async function failureWith(request: string, { tls, meanwhile, ...options }: Call = {}): Promise<unknown> {
	const secrets = tls ? credentials.createSsl() : credentials.createInsecure()
	const client = new Client(`127.0.0.1:${options.port ?? port}`, secrets, {
		'grpc.ssl_target_name_override': 'localhost',
	})
	const send = () =>
		new Promise((resolve, reject) => {
			const callback = (error: unknown, value: unknown) => (error ? reject(error) : resolve(value))
			const sent = client.makeUnaryRequest(
				PATH,
				toBytes,
				fromBytes,
				request,
				new Metadata(),
				options,
				callback,
			)
			meanwhile?.(sent)
		})
	try {
		return await catchFailure(send)
	} finally {
		client.close()
	}
}

test.each(GRPC_CODES)('code %i, %s, has its documented classification', async (code, _, meaning) => {
	for (const details of ['', 'ECONNRESET, the connection was throttled: 503']) {
		const error = await failureWith(`${code} ${details}`)
		expect(error).toMatchObject({ code, details })
		expect(classify(error)).toEqual(meaning)
	}
})

test('an error of the handler is transient', async () => {
	expect(classify(await failureWith('throw'))).toEqual(TRANSIENT)
})

test('a port without a server is a transient network failure', async () => {
	const error = await failureWith('hang', { port: await deadPort() })
	expect(error).toHaveProperty('code', status.UNAVAILABLE)
	expect(classify(error)).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(error)).toBe(true)
})

test.each<[string, Fault, boolean]>([
	['closes the connection', closeImmediately, false],
	['resets the connection', resetOnRequest, false],
	['interrupts the TLS handshake', closeInHandshake, true],
])('a server that %s is transient', async (_, fault, tls) => {
	await using broken = await faultServer(fault)
	expect(classify(await failureWith('hang', { port: broken.port, tls }))).toEqual(TRANSIENT)
})

test('an expired deadline of the call is transient', async () => {
	const error = await failureWith('hang', { deadline: Date.now() + 20 })
	expect(error).toHaveProperty('code', status.DEADLINE_EXCEEDED)
	expect(classify(error)).toEqual(TRANSIENT)
})

test('a call that its caller cancelled is cancelled', async () => {
	const error = await failureWith('hang', { meanwhile: (call) => call.cancel() })
	expect(error).toHaveProperty('code', status.CANCELLED)
	expect(classify(error)).toEqual(CANCELLED)
})
