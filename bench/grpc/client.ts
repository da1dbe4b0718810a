/** Makes as many calls as a message asks for, at concurrency 64, and reports when they have ended. `weigh`: the bytes of one call. */
import { Client, credentials } from '@grpc/grpc-js'
import { bytesAllocated } from '../weigh.ts'
import { CONTENDERS } from './contenders.ts'
import { GET } from './service.ts'

const CONCURRENCY = 64

const [name = '', address = ''] = process.argv.slice(2)
const contender = CONTENDERS[name]?.()
if (!contender) throw new Error(`no contender ${name}`)
const { options, deadlineMs } = contender
const client = new Client(address, credentials.createInsecure(), options)

const call = (): Promise<string | undefined> =>
	new Promise((resolve, reject) => {
		client.makeUnaryRequest(
			GET.path,
			GET.requestSerialize,
			GET.responseDeserialize,
			'7',
			deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
			(error, user) => (error ? reject(error) : resolve(user)),
		)
	})

async function callMany(count: number): Promise<void> {
	let left = count
	const worker = async () => {
		while (left-- > 0) await call()
	}
	await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

process.on('message', async (asked: number | 'weigh') => {
	if (asked === 'weigh') process.send?.(await bytesAllocated(call))
	else {
		await callMany(asked)
		process.send?.('done')
	}
})
process.on('disconnect', () => process.exit())
await call()
process.send?.('ready')
