import type { ScalabilityModel } from '../scenario/scenario.ts'

/**
 * The Universal Scalability Law (Gunther): by which factor a request takes longer if `inProgress` requests are processed concurrently.
 * They wait for each other's locks (contention, one term per other request), and for data to be consistent (coherency, one term per
 * pair). With n of them, throughput is n / (1 + contention (n - 1) + coherency n (n - 1)) times that of one.
 */
export const scalabilityFactor = (
	{ contention = 0, coherency = 0 }: ScalabilityModel,
	inProgress: number,
): number => 1 + (inProgress - 1) * (contention + coherency * inProgress)
