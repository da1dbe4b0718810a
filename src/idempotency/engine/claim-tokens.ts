/**
 * Tokens of claims. A token names the process that claims: a process on the same machine sees when that
 * process has ended, and does not wait for the rest of its lease. So a server that was killed and restarted
 * continues where it was. Between machines and containers the lease decides.
 */
import { CircuitOpenError } from '../../core/errors/errors.ts'
import { isLambda } from '../../core/runtime/platform.ts'
import { randomUuid } from '../../core/runtime/system.ts'
import { builtinModule } from '../../sql/node-modules.ts'

interface FileSystem {
	readFileSync(path: string, encoding: 'utf8'): string
	readlinkSync(path: string): string
}

interface NodeProcess {
	readonly pid: number
	kill(pid: number, signal: 0): unknown
}

const { process } = globalThis as { process?: NodeProcess }

/** More claims than a store fails before its circuit opens. */
const MAX_FAILED = 1_000

export class ClaimTokens {
	/**
	 * A number follows, because a random token for each request costs more than the rest of a replay. Created
	 * for the first request: Workers have no randomness before.
	 */
	#prefix: string | undefined
	#machine: string | undefined
	#count = 0
	/** Failed claims, the oldest first. The store may have made them, but no request runs for them. */
	readonly #failed = new Set<string>()

	next(): string {
		this.#machine ??= machineName()
		this.#prefix ??= `${this.#machine}/${process?.pid ?? ''}/${randomUuid()}.`
		return `${this.#prefix}${++this.#count}`
	}

	/** The store has not confirmed the claim. */
	recordFailure(token: string, error: unknown): void {
		if (error instanceof CircuitOpenError) return
		this.#failed.add(token)
		const [oldest] = this.#failed
		if (this.#failed.size > MAX_FAILED && oldest !== undefined) this.#failed.delete(oldest)
	}

	/** Whether no request can run for a claim any more. False if that cannot be known here. */
	hasEnded(token: string): boolean {
		return this.#failed.has(token) || this.#isOfEndedProcess(token)
	}

	#isOfEndedProcess(token: string): boolean {
		const [machine, pid] = token.split('/')
		if (!machine || machine !== this.#machine) return false
		try {
			// Signal 0 asks whether the process exists.
			process?.kill(Number(pid), 0)
			return false
		} catch (error) {
			return (error as { code?: unknown }).code === 'ESRCH'
		}
	}
}

/**
 * The boot and the namespace in which a process id is unique, and the host name, because virtual machines
 * that were cloned with their memory have the same boot. Empty where the system does not tell, on Deno, which
 * would ask for a permission, and on AWS Lambda, where nothing documented distinguishes the machines of two
 * environments: the process of a request that runs in one must not look like an ended process in another.
 */
function machineName(): string {
	if ('Deno' in globalThis || isLambda()) return ''
	try {
		const files = builtinModule<FileSystem>('node:fs')
		if (!files) return ''
		const [boot, host] = ['random/boot_id', 'hostname'].map((name) =>
			files.readFileSync(`/proc/sys/kernel/${name}`, 'utf8').trim(),
		)
		const namespace = files.readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
		return boot && namespace ? `${boot}-${namespace}-${host}` : ''
	} catch {
		return ''
	}
}
