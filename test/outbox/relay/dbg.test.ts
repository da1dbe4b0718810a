import { expect, test } from 'vitest'
import type { Handler } from 'yaoki/outbox'
import { Process } from './process.ts'
import { world } from './world.ts'

const OPTIONS = { leaseMs: 3_000, timeoutMs: 600_000 }

test('what waits in a relay whose lease has ended is not started', async () => {
	await using here = await world()
	await using sleeper = new Process(here)
	await here.enqueue(6)
	const deliver = here.sends(() => sleeper.pause(500))
	await sleeper.relay({ jobs: { deliver, concurrency: 1 } }, { ...OPTIONS, leaseMs: 2_000 })
	await here.clock.advance(100)
	sleeper.freeze()
	await here.clock.advance(60_000)
	const rows = await here.outbox.list()
	expect(rows.every(({ status }) => status === 'processing')).toBe(true)
	// Another one takes them all and is slow about it.
	await here.relay({ jobs: here.sends(() => here.pause(30_000)) }, { leaseMs: 60_000, timeoutMs: 600_000 })
	await here.clock.advance(1_000)
	const before = here.sendings.length
	sleeper.thaw()
	process.stderr.write('B '+sleeper.calls.length+'\n'); let n=0; sleeper.fault=(m)=>{ if(++n<60) process.stderr.write('C '+m+' '+here.clock.now()+'\n'); return undefined }; const t=setInterval(()=>process.stderr.write('T '+here.clock.now()+' '+n+' '+here.sendings.length+'\n'),1000); await here.clock.advance(5_000); clearInterval(t); process.stderr.write('D\n')
	expect(here.sendings).toHaveLength(before)
})
