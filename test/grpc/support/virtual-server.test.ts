import { expect, test, vi } from 'vitest'
import { useVirtualServer } from './virtual-server.ts'

// vi.resetModules in another file of the worker evaluated the module again. Ports started again at 1, and grpc-js, which is not evaluated
// again, had kept the tokens of throttling that were taken there.
test('ports are not repeated after the modules were reset', async () => {
	const { port } = useVirtualServer()
	vi.resetModules()
	const again: typeof import('./virtual-server.ts') = await import('./virtual-server.ts')
	expect(again.useVirtualServer).not.toBe(useVirtualServer)
	expect(again.useVirtualServer().port).toBe(port + 1)
})
