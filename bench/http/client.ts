/** A separate process for one contender: receives the number of requests, and returns how long they took. */
import { CONTENDERS } from './contenders.ts'

/** Requests in flight. */
const CONCURRENCY = 64

const [, , name = '', url = ''] = process.argv
const make = CONTENDERS[name]
if (!make) throw new Error(`there is no contender '${name}'`)
const get = await make()

async function run(count: number): Promise<number> {
	let left = count
	const worker = async () => {
		while (left-- > 0) await get(url)
	}
	const startedAt = process.hrtime.bigint()
	await Promise.all(Array.from({ length: CONCURRENCY }, worker))
	return Number(process.hrtime.bigint() - startedAt)
}

process.on('message', (count: number) => {
	void run(count).then((nanoseconds) => process.send?.(nanoseconds))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
