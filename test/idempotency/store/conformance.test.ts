/** The suite that defines a store, run for the store in memory. */
import { test } from 'vitest'
import { idempotencyStoreConformance } from '../../../src/idempotency/testing/index.ts'
import { openMemory } from './open-memory.ts'

for (const { name, run } of idempotencyStoreConformance(() => openMemory())) test(name, run)
