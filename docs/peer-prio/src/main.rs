//! Times libprio-rs in a process of its own: a line "CASE RUNS" is answered by {"seconds": S, "peak_bytes": 0}, S a run.
//! Cases are split/bits=768, split/cells=1024, split/cells=32768, and the same of start: a leader's part of verifying.
//! Chunks are those of the Go benchmark that asks.

use prio::vdaf::prio3::Prio3;
use prio::vdaf::{Aggregator, Client};
use std::hint::black_box;
use std::io::{stdin, BufRead};
use std::time::Instant;

const CONTEXT: &[u8] = b"benchmark";
const NONCE: [u8; 16] = [1; 16];

fn time<V>(vdaf: V, measurement: V::Measurement, split: bool, runs: u32) -> f64
where
    V: Client<16> + Aggregator<32, 16, AggregationParam = ()>,
{
    let (public, shares) = vdaf.shard(CONTEXT, &measurement, &NONCE).unwrap();
    let begin = Instant::now();
    for _ in 0..runs {
        if split {
            black_box(vdaf.shard(CONTEXT, &measurement, &NONCE).unwrap());
        } else {
            black_box(vdaf.prepare_init(&[2; 32], CONTEXT, 0, &(), &NONCE, &public, &shares[0]).unwrap());
        }
    }
    begin.elapsed().as_secs_f64() / f64::from(runs)
}

fn main() {
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split([' ', '/', '=']).collect();
        let [step, kind, length, chunk, runs] = words[..] else { panic!("{line}") };
        let (length, chunk) = (length.parse().unwrap(), chunk.parse().unwrap());
        let (split, runs) = (step == "split", runs.parse().unwrap());
        let seconds = match kind {
            "bits" => time(Prio3::new_sum_vec(2, 1, length, chunk).unwrap(), vec![0u128; length], split, runs),
            _ => time(Prio3::new_histogram(2, length, chunk).unwrap(), 1, split, runs),
        };
        println!("{{\"seconds\": {seconds}, \"peak_bytes\": 0}}");
    }
}
