import { describeRetrySafety, FAULTS, OFTEN } from './retry-safety-matrix.ts'

describeRetrySafety(Object.keys(FAULTS).filter((fault) => !OFTEN.includes(fault)))
